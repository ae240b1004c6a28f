// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined registers in its own intrinsics
// (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "millstream/math/gemm_kernels.h"

#define MILLSTREAM_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define MILLSTREAM_OP MILLSTREAM_TARGET static inline __attribute__((always_inline))

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
  MILLSTREAM_OP Reg Zero() { return _mm512_setzero_ps(); }
  MILLSTREAM_OP Reg Set(T x) { return _mm512_set1_ps(x); }
  MILLSTREAM_OP Reg Load(const T* p) { return _mm512_loadu_ps(p); }
  MILLSTREAM_OP void Store(T* p, Reg x) { _mm512_storeu_ps(p, x); }
  MILLSTREAM_OP __mmask16 Mask(int n) { return static_cast<__mmask16>((1u << n) - 1); }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm512_maskz_loadu_ps(Mask(n), p); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm512_mask_storeu_ps(p, Mask(n), x); }
  MILLSTREAM_OP Reg Add(Reg x, Reg y) { return _mm512_add_ps(x, y); }
  MILLSTREAM_OP Reg Mul(Reg x, Reg y) { return _mm512_mul_ps(x, y); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm512_fmadd_ps(x, y, z); }
  MILLSTREAM_OP Reg Max(Reg x, Reg y) { return _mm512_max_ps(x, y); }
  MILLSTREAM_OP Reg Min(Reg x, Reg y) { return _mm512_min_ps(x, y); }
  MILLSTREAM_OP __m128 Fold(Reg x) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    int j = 0;
    for (; j + 4 <= kCount; j += 4) {
      const __m128 low = _mm_hadd_ps(Fold(x[j]), Fold(x[j + 1]));
      const __m128 high = _mm_hadd_ps(Fold(x[j + 2]), Fold(x[j + 3]));
      _mm_storeu_ps(sums + j, _mm_hadd_ps(low, high));
    }
    for (; j < kCount; ++j) {
      const __m128 pair = _mm_hadd_ps(Fold(x[j]), Fold(x[j]));
      sums[j] = _mm_cvtss_f32(_mm_hadd_ps(pair, pair));
    }
  }
};

struct Double512 : Avx512Limits {
  using T = double;
  using Reg = __m512d;
  static constexpr int kWidth = 8;
  MILLSTREAM_OP Reg Zero() { return _mm512_setzero_pd(); }
  MILLSTREAM_OP Reg Set(T x) { return _mm512_set1_pd(x); }
  MILLSTREAM_OP Reg Load(const T* p) { return _mm512_loadu_pd(p); }
  MILLSTREAM_OP void Store(T* p, Reg x) { _mm512_storeu_pd(p, x); }
  MILLSTREAM_OP __mmask8 Mask(int n) { return static_cast<__mmask8>((1u << n) - 1); }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm512_maskz_loadu_pd(Mask(n), p); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm512_mask_storeu_pd(p, Mask(n), x); }
  MILLSTREAM_OP Reg Add(Reg x, Reg y) { return _mm512_add_pd(x, y); }
  MILLSTREAM_OP Reg Mul(Reg x, Reg y) { return _mm512_mul_pd(x, y); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm512_fmadd_pd(x, y, z); }
  MILLSTREAM_OP Reg Max(Reg x, Reg y) { return _mm512_max_pd(x, y); }
  MILLSTREAM_OP Reg Min(Reg x, Reg y) { return _mm512_min_pd(x, y); }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    for (int j = 0; j < kCount; ++j) {
      const __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(x[j]), _mm512_extractf64x4_pd(x[j], 1));
      const __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
      sums[j] = _mm_cvtsd_f64(_mm_hadd_pd(pair, pair));
    }
  }
};

}  // namespace
}  // namespace millstream::math

#include "millstream/math/gemm_kernels_inl.h"
// After gemm_kernels_inl.h.
#include "millstream/math/conv_winograd_inl.h"

namespace millstream::math {

const GemmKernels<float>& Avx512KernelsFloat() {
  static constexpr GemmKernels<float> kKernels = MakeKernels<Float512>();
  return kKernels;
}

const GemmKernels<double>& Avx512KernelsDouble() {
  static constexpr GemmKernels<double> kKernels = MakeKernels<Double512>();
  return kKernels;
}

const WinogradKernels& Avx512Winograd(int64_t filter) {
  static constexpr WinogradKernels kThree = MakeWinograd<Float512, 3>(), kFive = MakeWinograd<Float512, 5>();
  return filter == 3 ? kThree : kFive;
}

}  // namespace millstream::math
