// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_AS_FLOAT_H_
#define MILLSTREAM_OPS_ELEMENTS_AS_FLOAT_H_

#include "millstream/framework/kernel.h"

// For kernels whose loops exist for float and double only: 16-bit floats are converted before and after.
namespace millstream {

inline bool IsNarrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBfloat16; }

// `t` as float if it is of a 16-bit type, else itself.
StatusOr<Tensor> AsFloat(KernelContext& ctx, const Tensor& t);
// Where to compute an output: a float tensor of its own for 16-bit types, else *out itself.
StatusOr<Tensor> FloatFor(KernelContext& ctx, Tensor* out);
// Rounds what was computed in FloatFor(out) to *out, unless it is the same tensor.
void StoreFloat(KernelContext& ctx, const Tensor& wide, Tensor* out);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_AS_FLOAT_H_
