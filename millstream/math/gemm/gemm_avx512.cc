// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined registers in its own intrinsics
// (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "millstream/math/gemm/gemm_kernels.h"

#define MILLSTREAM_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))

#include "millstream/math/gemm/gemm_vector_inl.h"
// After gemm_vector_inl.h.
#include "millstream/math/gemm/gemm_fold_inl.h"

namespace millstream::math {
namespace {

// Shared by both element types: how many rows fit beside the vectors of a tile
// in 32 registers.
struct Avx512Limits {
  static constexpr int kRows1 = 14, kRows2 = 14, kRows4 = 6;
  static constexpr int kDotRows = 4, kDotCols = 5;
};

struct Float512 : Avx512Limits {
  using T = float;
  using Reg = __m512;
  static constexpr int kWidth = 16;
  MILLSTREAM_VECTOR_OPS(_mm512, ps)
  MILLSTREAM_OP __mmask16 Mask(int n) { return static_cast<__mmask16>((1u << n) - 1); }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm512_maskz_loadu_ps(Mask(n), p); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm512_mask_storeu_ps(p, Mask(n), x); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm512_fmadd_ps(x, y, z); }
  MILLSTREAM_OP __m128 Fold(Reg x) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    SumFolded<Float512, kCount>(x, sums);
  }
};

struct Double512 : Avx512Limits {
  using T = double;
  using Reg = __m512d;
  static constexpr int kWidth = 8;
  MILLSTREAM_VECTOR_OPS(_mm512, pd)
  MILLSTREAM_OP __mmask8 Mask(int n) { return static_cast<__mmask8>((1u << n) - 1); }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm512_maskz_loadu_pd(Mask(n), p); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm512_mask_storeu_pd(p, Mask(n), x); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm512_fmadd_pd(x, y, z); }
  MILLSTREAM_OP __m128d Fold(Reg x) {
    const __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    return _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
  }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    SumFolded<Double512, kCount>(x, sums);
  }
};

}  // namespace
}  // namespace millstream::math

#include "millstream/math/gemm/gemm_kernels_inl.h"
// After gemm_kernels_inl.h.
#include "millstream/math/gemm/winograd_inl.h"

namespace millstream::math {

constexpr GemmKernels<float> kAvx512Float = MakeKernels<Float512>();
constexpr GemmKernels<double> kAvx512Double = MakeKernels<Double512>();
constexpr WinogradSizes kAvx512Winograd = MakeWinograd<Float512>();

}  // namespace millstream::math
