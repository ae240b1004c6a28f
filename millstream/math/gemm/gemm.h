// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_H_
#define MILLSTREAM_MATH_GEMM_GEMM_H_

#include <cstdint>

#include "millstream/base/thread_pool.h"

namespace millstream::math {

enum class Activation { kNone, kRelu, kRelu6 };

// One matrix product, C = act(alpha * op(A) * op(B) + bias [+ C]), all
// row-major. op(A) is m x k and op(B) is k x n; with `trans_a` A is stored k x
// m, with `trans_b` B is stored n x k. A leading dimension of 0 means "dense".
// C must not overlap A or B. With k == 0 the product is zero.
template <typename T>
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
  bool trans_a = false, trans_b = false;
  // Complex types only: conjugates the elements, so trans + conj is the
  // adjoint.
  bool conj_a = false, conj_b = false;
  bool accumulate = false;  // adds to C instead of overwriting it
  int64_t lda = 0, ldb = 0, ldc = 0;
  T alpha = T(1);
  const T* bias = nullptr;  // n values added to every row; may be null
  Activation activation = Activation::kNone;
};

// Splits the work over `pool`, or stays on this thread if it is null. Does not
// allocate once each thread's scratch memory has grown to the size it needs.
// Thread-safe. For other element types see gemm_generic.h.
void Gemm(const GemmArgs<float>& args, ThreadPool* pool);
void Gemm(const GemmArgs<double>& args, ThreadPool* pool);

// `batch` products whose operands lie at fixed distances (0 repeats an operand)
// from those in `first`.
template <typename T>
struct BatchGemmArgs {
  GemmArgs<T> first;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
};
void BatchGemm(const BatchGemmArgs<float>& args, ThreadPool* pool);
void BatchGemm(const BatchGemmArgs<double>& args, ThreadPool* pool);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_H_
