// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "millstream/math/gemm_kernels.h"

#define MILLSTREAM_TARGET __attribute__((target("avx2,fma")))
#define MILLSTREAM_OP MILLSTREAM_TARGET static inline __attribute__((always_inline))

namespace millstream::math {
namespace {

// Shared by both element types: how many rows fit beside the vectors of a tile
// in 16 registers.
struct Avx2Limits {
  static constexpr int kRows1 = 12, kRows2 = 6, kRows4 = 2;
  static constexpr int kDotRows = 2, kDotCols = 5;
};

struct Float256 : Avx2Limits {
  using T = float;
  using Reg = __m256;
  static constexpr int kWidth = 8;
  MILLSTREAM_OP Reg Zero() { return _mm256_setzero_ps(); }
  MILLSTREAM_OP Reg Set(T x) { return _mm256_set1_ps(x); }
  MILLSTREAM_OP Reg Load(const T* p) { return _mm256_loadu_ps(p); }
  MILLSTREAM_OP void Store(T* p, Reg x) { _mm256_storeu_ps(p, x); }
  MILLSTREAM_OP __m256i Mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm256_maskload_ps(p, Mask(n)); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm256_maskstore_ps(p, Mask(n), x); }
  MILLSTREAM_OP Reg Add(Reg x, Reg y) { return _mm256_add_ps(x, y); }
  MILLSTREAM_OP Reg Mul(Reg x, Reg y) { return _mm256_mul_ps(x, y); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm256_fmadd_ps(x, y, z); }
  MILLSTREAM_OP Reg Max(Reg x, Reg y) { return _mm256_max_ps(x, y); }
  MILLSTREAM_OP Reg Min(Reg x, Reg y) { return _mm256_min_ps(x, y); }
  MILLSTREAM_OP __m128 Fold(Reg x) { return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)); }
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

struct Double256 : Avx2Limits {
  using T = double;
  using Reg = __m256d;
  static constexpr int kWidth = 4;
  MILLSTREAM_OP Reg Zero() { return _mm256_setzero_pd(); }
  MILLSTREAM_OP Reg Set(T x) { return _mm256_set1_pd(x); }
  MILLSTREAM_OP Reg Load(const T* p) { return _mm256_loadu_pd(p); }
  MILLSTREAM_OP void Store(T* p, Reg x) { _mm256_storeu_pd(p, x); }
  MILLSTREAM_OP __m256i Mask(int n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm256_maskload_pd(p, Mask(n)); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm256_maskstore_pd(p, Mask(n), x); }
  MILLSTREAM_OP Reg Add(Reg x, Reg y) { return _mm256_add_pd(x, y); }
  MILLSTREAM_OP Reg Mul(Reg x, Reg y) { return _mm256_mul_pd(x, y); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm256_fmadd_pd(x, y, z); }
  MILLSTREAM_OP Reg Max(Reg x, Reg y) { return _mm256_max_pd(x, y); }
  MILLSTREAM_OP Reg Min(Reg x, Reg y) { return _mm256_min_pd(x, y); }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    for (int j = 0; j < kCount; ++j) {
      const __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(x[j]), _mm256_extractf128_pd(x[j], 1));
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

const GemmKernels<float>& Avx2KernelsFloat() {
  static constexpr GemmKernels<float> kKernels = MakeKernels<Float256>();
  return kKernels;
}

const GemmKernels<double>& Avx2KernelsDouble() {
  static constexpr GemmKernels<double> kKernels = MakeKernels<Double256>();
  return kKernels;
}

const WinogradKernels& Avx2Winograd(int64_t filter) {
  static constexpr WinogradKernels kThree = MakeWinograd<Float256, 3>(), kFive = MakeWinograd<Float256, 5>();
  return filter == 3 ? kThree : kFive;
}

}  // namespace millstream::math
