// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_VECTOR_MATH_H_
#define MILLSTREAM_MATH_VECTOR_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "millstream/math/simd.h"

// Elementary functions for the bodies of simd::For: the float versions have no
// branches, no tables and no calls, so loops over them become vector code.
// Relative error at most 3e-7 over the whole range unless said otherwise;
// infinities, NaN and zero give what libm gives; subnormal results may be
// flushed by the caller's floating-point mode. The double versions call libm,
// except where said. Polynomials are our own minimax fits.
namespace millstream::math {

namespace internal {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
inline constexpr float kRound = 12582912.0f;
inline constexpr uint32_t kRoundBits = 0x4b400000;
// kLn2Hi has 9 bits, so that its products with exponents are exact.
inline constexpr float kLn2Hi = 0.693359375f;
inline constexpr float kLn2Lo = -2.12194440055e-4f;
inline constexpr float kLog2E = 1.44269504088896341f;

// 2^n for -126 <= n <= 127. Integers are unsigned here because NaN may bring
// any bits, which must not overflow.
MILLSTREAM_ALWAYS_INLINE float PowerOfTwo(int32_t n) {
  return std::bit_cast<float>((static_cast<uint32_t>(n) + 127u) << 23);
}

// x = n ln 2 + r with |r| <= ln 2 / 2.
struct ExpArgument {
  int32_t n;
  float r;
};
MILLSTREAM_ALWAYS_INLINE ExpArgument ReduceExp(float x) {
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  return {static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - kRoundBits), (x - n * kLn2Hi) - n * kLn2Lo};
}

// exp(r) - 1 for |r| <= ln 2 / 2.
MILLSTREAM_ALWAYS_INLINE float Expm1Reduced(float r) {
  float q = 1.394652480e-03f;
  q = q * r + 8.366581268e-03f;
  q = q * r + 4.166628059e-02f;
  q = q * r + 1.666654305e-01f;
  q = q * r + 5.000000063e-01f;
  return r + (r * r) * q;
}

// x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). REQUIRES: x is normal and
// positive.
struct LogArgument {
  int32_t e;
  float f;
};
MILLSTREAM_ALWAYS_INLINE LogArgument ReduceLog(float x) {
  constexpr uint32_t kSqrtHalfBits = 0x3f3504f3;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const int32_t e = static_cast<int32_t>(bits - kSqrtHalfBits) >> 23;
  const uint32_t mantissa = bits - (static_cast<uint32_t>(e) << 23);
  return {e, std::bit_cast<float>(mantissa) - 1.0f};
}

// e ln 2 + log(1 + f).
MILLSTREAM_ALWAYS_INLINE float LogReduced(float e, float f) {
  float p = 6.917144032e-02f;
  p = p * f - 1.179062219e-01f;
  p = p * f + 1.187254789e-01f;
  p = p * f - 1.238417480e-01f;
  p = p * f + 1.421870316e-01f;
  p = p * f - 1.666926293e-01f;
  p = p * f + 2.000222422e-01f;
  p = p * f - 2.499998633e-01f;
  p = p * f + 3.333331049e-01f;
  const float tail = (f * f) * (f * p - 0.5f) + e * kLn2Lo;
  return e * kLn2Hi + (f + tail);
}

}  // namespace internal

MILLSTREAM_ALWAYS_INLINE float Exp(float x) {
  x = x > 89.0f ? 89.0f : x;  // both bounds keep NaN
  x = x < -104.0f ? -104.0f : x;
  const internal::ExpArgument a = internal::ReduceExp(x);
  // Two factors reach the subnormal numbers and infinity.
  const int32_t half = a.n >> 1;
  return (1.0f + internal::Expm1Reduced(a.r)) * internal::PowerOfTwo(half) * internal::PowerOfTwo(a.n - half);
}

MILLSTREAM_ALWAYS_INLINE float Expm1(float x) {
  const float bounded = x > 89.0f ? 89.0f : (x < -40.0f ? -40.0f : x);
  const internal::ExpArgument a = internal::ReduceExp(bounded);
  const float p = internal::Expm1Reduced(a.r);
  const float scale = internal::PowerOfTwo(a.n - 1);
  const float y = 2.0f * (scale * p + (scale - 0.5f));
  return a.n == 0 ? p : y;
}

MILLSTREAM_ALWAYS_INLINE float Log(float x) {
  const bool subnormal = x < std::numeric_limits<float>::min();
  const internal::LogArgument a = internal::ReduceLog(subnormal ? x * 8388608.0f : x);
  const float e = static_cast<float>(a.e) - (subnormal ? 23.0f : 0.0f);
  const float y = internal::LogReduced(e, a.f);
  const float finite = x < internal::kInf ? y : x;  // infinity and NaN
  return x > 0.0f ? finite : (x == 0.0f ? -internal::kInf : internal::kNan);
}

MILLSTREAM_ALWAYS_INLINE float Log1p(float x) {
  const float u = 1.0f + x;
  // What the rounding of u lost.
  const float c = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
  const internal::LogArgument a = internal::ReduceLog(u);
  const int32_t e = a.e < 126 ? a.e : 126;
  const float y = internal::LogReduced(static_cast<float>(a.e), a.f + c * internal::PowerOfTwo(-e));
  const float finite = x < internal::kInf ? y : x;
  return x > -1.0f ? finite : (x == -1.0f ? -internal::kInf : internal::kNan);
}

MILLSTREAM_ALWAYS_INLINE float Tanh(float x) {
  const float a = std::fabs(x);
  const float y = Expm1(a > 20.0f ? -40.0f : -2.0f * a);
  return std::copysign(y / (2.0f + y), x);
}

MILLSTREAM_ALWAYS_INLINE float Sigmoid(float x) {
  const float y = Exp(-std::fabs(x));
  return (x < 0.0f ? y : 1.0f) / (1.0f + y);
}

// log(1 + exp(x)).
MILLSTREAM_ALWAYS_INLINE float Softplus(float x) {
  return (x > 0.0f ? x : (x <= 0.0f ? 0.0f : x)) + Log1p(Exp(-std::fabs(x)));
}

// Relative error at most 4e-7.
MILLSTREAM_ALWAYS_INLINE float Erf(float x) {
  // erf(3.925) rounds to 1.
  const float a = x > 3.925f ? 3.925f : (x < -3.925f ? -3.925f : x);
  const float t = a * a;
  float p = 2.046369504e-06f;
  p = p * t + 2.848057883e-04f;
  p = p * t + 3.770763105e-03f;
  p = p * t + 5.276371876e-02f;
  p = p * t + 1.905518078e-01f;
  p = p * t + 1.128379146e+00f;
  float q = 3.804937131e-05f;
  q = q * t + 1.163430618e-03f;
  q = q * t + 1.497959023e-02f;
  q = q * t + 1.141653603e-01f;
  q = q * t + 5.022048795e-01f;
  q = q * t + 1.0f;
  const float y = a * p / q;
  return y > 1.0f ? 1.0f : (y < -1.0f ? -1.0f : y);
}

MILLSTREAM_ALWAYS_INLINE float Sqrt(float x) { return std::sqrt(x); }
MILLSTREAM_ALWAYS_INLINE float Rsqrt(float x) { return 1.0f / std::sqrt(x); }

namespace internal {

// sin(x + quadrant pi/2) for |x| < 1.6e6; beyond, the absolute error grows as
// 2e-16 |x|.
MILLSTREAM_ALWAYS_INLINE float SinShifted(float x, int32_t quadrant) {
  constexpr double kRoundDouble = 6755399441055744.0;  // 1.5 * 2^52
  constexpr double kHalfPiHi = 0x1.921fb544p+0;        // 33 bits: exact products up to 2^20
  constexpr double kHalfPiLo = 0x1.0b4611a626331p-34;
  const double wide = x;
  const double shifted = wide * 0.63661977236758134308 + kRoundDouble;
  const double n = shifted - kRoundDouble;
  const float r = static_cast<float>((wide - n * kHalfPiHi) - n * kHalfPiLo);
  const int32_t k = static_cast<int32_t>(std::bit_cast<int64_t>(shifted)) + quadrant;
  const float t = r * r;
  const float s = r + r * t * ((-1.951723126e-04f * t + 8.332177699e-03f) * t - 1.666665494e-01f);
  const float c = (1.0f - 0.5f * t) + t * t * ((2.443841661e-05f * t - 1.388736744e-03f) * t + 4.166664687e-02f);
  const float y = (k & 1) != 0 ? c : s;
  return (k & 2) != 0 ? -y : y;
}

}  // namespace internal

// Accurate for |x| < 1.6e6. SinArray() and CosArray() are accurate everywhere.
MILLSTREAM_ALWAYS_INLINE float Sin(float x) { return internal::SinShifted(x, 0); }
MILLSTREAM_ALWAYS_INLINE float Cos(float x) { return internal::SinShifted(x, 1); }
// y[i] = sin(x[i]) or cos(x[i]); y may be x.
void SinArray(const float* x, float* y, int64_t n);
void CosArray(const float* x, float* y, int64_t n);

// Not vectorised.
MILLSTREAM_ALWAYS_INLINE float Pow(float x, float y) { return std::pow(x, y); }

MILLSTREAM_ALWAYS_INLINE double Exp(double x) { return std::exp(x); }
MILLSTREAM_ALWAYS_INLINE double Expm1(double x) { return std::expm1(x); }
MILLSTREAM_ALWAYS_INLINE double Log(double x) { return std::log(x); }
MILLSTREAM_ALWAYS_INLINE double Log1p(double x) { return std::log1p(x); }
MILLSTREAM_ALWAYS_INLINE double Tanh(double x) { return std::tanh(x); }
MILLSTREAM_ALWAYS_INLINE double Sigmoid(double x) {
  const double y = std::exp(-std::fabs(x));
  return (x < 0.0 ? y : 1.0) / (1.0 + y);
}
MILLSTREAM_ALWAYS_INLINE double Softplus(double x) {
  return (x > 0.0 ? x : (x <= 0.0 ? 0.0 : x)) + std::log1p(std::exp(-std::fabs(x)));
}
MILLSTREAM_ALWAYS_INLINE double Erf(double x) { return std::erf(x); }
MILLSTREAM_ALWAYS_INLINE double Sqrt(double x) { return std::sqrt(x); }
MILLSTREAM_ALWAYS_INLINE double Rsqrt(double x) { return 1.0 / std::sqrt(x); }
MILLSTREAM_ALWAYS_INLINE double Sin(double x) { return std::sin(x); }
MILLSTREAM_ALWAYS_INLINE double Cos(double x) { return std::cos(x); }
MILLSTREAM_ALWAYS_INLINE double Pow(double x, double y) { return std::pow(x, y); }

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_VECTOR_MATH_H_
