// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_PRODUCT_H_
#define MILLSTREAM_OPS_ELEMENTS_PRODUCT_H_

#include "millstream/framework/op.h"
#include "millstream/math/gemm/gemm.h"
#include "millstream/ops/elements/elementwise.h"

namespace millstream {

// One product of matrices, or a batch of them at fixed distances (in elements; 0 repeats an operand).
struct ProductArgs {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool conjugate_a = false, conjugate_b = false;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  const int64_t* offsets_a = nullptr;  // where each operand of the batch begins, if the distances vary
  const int64_t* offsets_b = nullptr;
  const Tensor* bias = nullptr;
  math::Activation activation = math::Activation::kNone;
};

// c = a * b for every type that MatMul has. REQUIRES: the sizes match those of the tensors.
Status MultiplyMatrices(KernelContext& ctx, const Tensor& a, const Tensor& b, const ProductArgs& args, Tensor* c);

// The shape function of MatMul and of whatever else multiplies two matrices by its attributes transpose_a, transpose_b.
Status MatMulShape(ShapeContext& c);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_PRODUCT_H_
