// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_SMALL_TYPES_H_
#define MILLSTREAM_OPS_ELEMENTS_SMALL_TYPES_H_

#include "millstream/tensor/dtype.h"

// Floats of eight bits and fewer, and integers of four and two: what their bytes mean.
namespace millstream {

bool IsSmallFloat(DType t);
bool IsSmallInt(DType t);

// Nearest values, ties to even. Of what is too large, types with infinities make those, float4 its largest number, and
// others NaN. REQUIRES: a small float type.
void DecodeSmallFloats(DType type, const void* from, double* to, int64_t n);
void EncodeSmallFloats(DType type, const double* from, void* to, int64_t n);

// The low bits of each number, one byte each. REQUIRES: a small integer type.
void DecodeSmallInts(DType type, const void* from, int8_t* to, int64_t n);
void EncodeSmallInts(DType type, const int8_t* from, void* to, int64_t n);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_SMALL_TYPES_H_
