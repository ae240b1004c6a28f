// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_NARROW_H_
#define MILLSTREAM_OPS_ELEMENTS_NARROW_H_

#include <cstdint>

#include "millstream/tensor/dtype.h"

namespace millstream {

// Arrays of 16-bit floats (`narrow` is kHalf or kBfloat16) to and from float, rounding to nearest even.
void WidenToFloat(DType narrow, const void* from, float* to, int64_t n);
void NarrowFromFloat(DType narrow, const float* from, void* to, int64_t n);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_NARROW_H_
