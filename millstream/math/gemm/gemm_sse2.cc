// SPDX-License-Identifier: Apache-2.0
#include <emmintrin.h>

#include "millstream/math/gemm/gemm_kernels.h"

// SSE2 is part of every x86-64.
#define MILLSTREAM_TARGET

#include "millstream/math/gemm/gemm_vector_inl.h"

namespace millstream::math {
namespace {

// Shared by both element types: how many rows fit beside the vectors of a tile
// in 16 registers, one of them for the product, since there is no fused
// multiply-add.
struct Sse2Limits {
  static constexpr int kRows1 = 12, kRows2 = 6, kRows4 = 2;
  static constexpr int kDotRows = 2, kDotCols = 5;
};

struct Float128 : Sse2Limits {
  using T = float;
  using Reg = __m128;
  static constexpr int kWidth = 4;
  MILLSTREAM_VECTOR_OPS(_mm, ps)
  MILLSTREAM_OP Reg LoadN(const T* p, int n) {
    return _mm_setr_ps(p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0);
  }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) {
    T lanes[kWidth];
    _mm_storeu_ps(lanes, x);
    for (int i = 0; i < n; ++i) p[i] = lanes[i];
  }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm_add_ps(_mm_mul_ps(x, y), z); }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    for (int j = 0; j < kCount; ++j) {
      const Reg pair = _mm_add_ps(x[j], _mm_movehl_ps(x[j], x[j]));
      sums[j] = _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps(pair, pair, 1)));
    }
  }
};

struct Double128 : Sse2Limits {
  using T = double;
  using Reg = __m128d;
  static constexpr int kWidth = 2;
  MILLSTREAM_VECTOR_OPS(_mm, pd)
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm_setr_pd(p[0], n > 1 ? p[1] : 0); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { n > 1 ? _mm_storeu_pd(p, x) : _mm_store_sd(p, x); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm_add_pd(_mm_mul_pd(x, y), z); }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    for (int j = 0; j < kCount; ++j) sums[j] = _mm_cvtsd_f64(_mm_add_sd(x[j], _mm_unpackhi_pd(x[j], x[j])));
  }
};

}  // namespace
}  // namespace millstream::math

#include "millstream/math/gemm/gemm_kernels_inl.h"
// After gemm_kernels_inl.h.
#include "millstream/math/gemm/winograd_inl.h"

namespace millstream::math {

constexpr GemmKernels<float> kSse2Float = MakeKernels<Float128>();
constexpr GemmKernels<double> kSse2Double = MakeKernels<Double128>();
constexpr WinogradSizes kSse2Winograd = MakeWinograd<Float128>();

}  // namespace millstream::math
