// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "millstream/math/gemm/gemm_kernels.h"

#define MILLSTREAM_TARGET __attribute__((target("avx2,fma")))

#include "millstream/math/gemm/gemm_vector_inl.h"
// After gemm_vector_inl.h.
#include "millstream/math/gemm/gemm_fold_inl.h"

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
  MILLSTREAM_VECTOR_OPS(_mm256, ps)
  MILLSTREAM_OP __m256i Mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm256_maskload_ps(p, Mask(n)); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm256_maskstore_ps(p, Mask(n), x); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm256_fmadd_ps(x, y, z); }
  MILLSTREAM_OP __m128 Fold(Reg x) { return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)); }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    SumFolded<Float256, kCount>(x, sums);
  }
};

struct Double256 : Avx2Limits {
  using T = double;
  using Reg = __m256d;
  static constexpr int kWidth = 4;
  MILLSTREAM_VECTOR_OPS(_mm256, pd)
  MILLSTREAM_OP __m256i Mask(int n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  MILLSTREAM_OP Reg LoadN(const T* p, int n) { return _mm256_maskload_pd(p, Mask(n)); }
  MILLSTREAM_OP void StoreN(T* p, Reg x, int n) { _mm256_maskstore_pd(p, Mask(n), x); }
  MILLSTREAM_OP Reg MulAdd(Reg x, Reg y, Reg z) { return _mm256_fmadd_pd(x, y, z); }
  MILLSTREAM_OP __m128d Fold(Reg x) { return _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1)); }
  template <int kCount>
  MILLSTREAM_OP void SumLanes(const Reg* x, T* sums) {
    SumFolded<Double256, kCount>(x, sums);
  }
};

}  // namespace
}  // namespace millstream::math

#include "millstream/math/gemm/gemm_kernels_inl.h"
// After gemm_kernels_inl.h.
#include "millstream/math/gemm/winograd_inl.h"

namespace millstream::math {

constexpr GemmKernels<float> kAvx2Float = MakeKernels<Float256>();
constexpr GemmKernels<double> kAvx2Double = MakeKernels<Double256>();
constexpr WinogradSizes kAvx2Winograd = MakeWinograd<Float256>();

}  // namespace millstream::math
