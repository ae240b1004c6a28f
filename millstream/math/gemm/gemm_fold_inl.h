// SPDX-License-Identifier: Apache-2.0
// Sums over the lanes of vectors, for instruction sets with SSE3: included like
// gemm_vector_inl.h, and after it. Unnamed namespace: see there.

namespace millstream::math {
namespace {

// sums[j] = the sum of all lanes of x[j]; V::Fold adds them up to 128 bits.
template <class V, int kCount>
MILLSTREAM_OP void SumFolded(const typename V::Reg* x, float* sums) {
  int j = 0;
  for (; j + 4 <= kCount; j += 4) {
    const __m128 low = _mm_hadd_ps(V::Fold(x[j]), V::Fold(x[j + 1]));
    const __m128 high = _mm_hadd_ps(V::Fold(x[j + 2]), V::Fold(x[j + 3]));
    _mm_storeu_ps(sums + j, _mm_hadd_ps(low, high));
  }
  for (; j < kCount; ++j) {
    const __m128 pair = _mm_hadd_ps(V::Fold(x[j]), V::Fold(x[j]));
    sums[j] = _mm_cvtss_f32(_mm_hadd_ps(pair, pair));
  }
}

template <class V, int kCount>
MILLSTREAM_OP void SumFolded(const typename V::Reg* x, double* sums) {
  for (int j = 0; j < kCount; ++j) {
    const __m128d pair = V::Fold(x[j]);
    sums[j] = _mm_cvtsd_f64(_mm_hadd_pd(pair, pair));
  }
}

}  // namespace
}  // namespace millstream::math
