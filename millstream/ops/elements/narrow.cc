// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/narrow.h"

#include "millstream/math/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millstream {
namespace {

#if defined(__x86_64__)
// The processor's own conversions, which round to nearest even and know subnormal numbers whatever the floating-point
// mode is. Each returns how many elements it has done: all but fewer than a vector.
constexpr int kHalfRounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

MILLSTREAM_SIMD_AVX2_ int64_t StoreHalvesAvx2(const float* from, uint16_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kHalfRounding));
  }
  return i;
}
MILLSTREAM_SIMD_AVX2_ int64_t FloatsAvx2(const uint16_t* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  return i;
}
// With masks: the intrinsics without them begin with an undefined register, of which GCC 12 warns.
MILLSTREAM_SIMD_AVX512_ int64_t StoreHalvesAvx512(const float* from, uint16_t* to, int64_t n) {
  constexpr __mmask16 kAll = 0xffff;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i halves = _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from + i), kHalfRounding);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), halves);
  }
  return i;
}
MILLSTREAM_SIMD_AVX512_ int64_t FloatsAvx512(const uint16_t* from, float* to, int64_t n) {
  constexpr __mmask16 kAll = 0xffff;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(kAll, halves));
  }
  return i;
}
#endif

int64_t StoreHalves(const float* from, uint16_t* to, int64_t n) {
#if defined(__x86_64__)
  if (simd::ActiveIsa() == simd::Isa::kAvx512) return StoreHalvesAvx512(from, to, n);
  if (simd::ActiveIsa() == simd::Isa::kAvx2) return StoreHalvesAvx2(from, to, n);
#endif
  return 0;
}
int64_t FloatsOfHalves(const uint16_t* from, float* to, int64_t n) {
#if defined(__x86_64__)
  if (simd::ActiveIsa() == simd::Isa::kAvx512) return FloatsAvx512(from, to, n);
  if (simd::ActiveIsa() == simd::Isa::kAvx2) return FloatsAvx2(from, to, n);
#endif
  return 0;
}

}  // namespace

void WidenToFloat(DType narrow, const void* from, float* to, int64_t n) {
  const auto* x = static_cast<const uint16_t*>(from);
  if (narrow == DType::kHalf) {
    for (int64_t i = FloatsOfHalves(x, to, n); i < n; ++i) to[i] = float16_internal::HalfToFloat(x[i]);
  } else {
    simd::For<float>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      to[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i]) << 16);
    });
  }
}

void NarrowFromFloat(DType narrow, const float* from, void* to, int64_t n) {
  auto* y = static_cast<uint16_t*>(to);
  if (narrow == DType::kHalf) {
    for (int64_t i = StoreHalves(from, y, n); i < n; ++i) y[i] = float16_internal::HalfFromFloat(from[i]);
  } else {
    simd::For<float>(0, n,
                     [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = float16_internal::BFloat16FromFloat(from[i]); });
  }
}

}  // namespace millstream
