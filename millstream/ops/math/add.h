// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_ADD_H_
#define MILLSTREAM_OPS_MATH_ADD_H_

#include "millstream/ops/math/elementwise.h"

namespace millstream {

// The loop of AddV2 for elements of this type. REQUIRES: a number type.
elementwise::LoopInfo<elementwise::BinaryLoop> AddLoop(DType dtype);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_ADD_H_
