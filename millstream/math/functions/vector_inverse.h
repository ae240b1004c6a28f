// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_FUNCTIONS_VECTOR_INVERSE_H_
#define MILLSTREAM_MATH_FUNCTIONS_VECTOR_INVERSE_H_

#include <cmath>
#include <limits>

#include "millstream/math/vector_math.h"

// Inverse trigonometric, hyperbolic and inverse hyperbolic functions and erfc for the bodies of simd::For, as those of
// vector_math.h: relative error at most 5e-7, infinities, NaN and signs of zero as libm's. Of float alone.
namespace millstream::math {

namespace internal {

inline constexpr float kPi = 3.14159265358979324f, kHalfPi = 1.57079632679489662f;
inline constexpr float kHalfPiRest = -4.37113900018624283e-8f;  // pi/2 - kHalfPi
inline constexpr float kLn2 = 0.693147180559945309f;

// atan(z) for 0 <= z <= 1.
MILLSTREAM_ALWAYS_INLINE float AtanReduced(float z) {
  const float t = z * z;
  float p = -1.753906446e-03f;
  p = p * t + 1.072683764e-02f;
  p = p * t - 3.080439816e-02f;
  p = p * t + 5.755190154e-02f;
  p = p * t - 8.377303684e-02f;
  p = p * t + 1.094202661e-01f;
  p = p * t - 1.426193232e-01f;
  p = p * t + 1.999826597e-01f;
  p = p * t - 3.333328364e-01f;
  return z + z * (t * p);
}

// asin(x) for |x| <= 0.5.
MILLSTREAM_ALWAYS_INLINE float AsinReduced(float x) {
  const float t = x * x;
  float p = 3.748226936e-02f;
  p = p * t + 1.446750811e-02f;
  p = p * t + 3.179840219e-02f;
  p = p * t + 4.451836586e-02f;
  p = p * t + 7.500494365e-02f;
  p = p * t + 1.666666023e-01f;
  return x + x * (t * p);
}

}  // namespace internal

MILLSTREAM_ALWAYS_INLINE float Atan(float x) {
  const float a = std::fabs(x);
  const bool large = a > 1.0f;
  const float y = internal::AtanReduced(large ? 1.0f / a : a);
  return std::copysign(large ? internal::kHalfPi - (y - internal::kHalfPiRest) : y, x);
}

// The angle of the point (x, y).
MILLSTREAM_ALWAYS_INLINE float Atan2(float y, float x) {
  const float ax = std::fabs(x), ay = std::fabs(y);
  const bool steep = ay > ax;
  const float high = steep ? ay : ax, low = steep ? ax : ay;
  const float ratio = low == high ? (high == 0.0f ? 0.0f : 1.0f) : low / high;  // two infinities have one too
  float angle = internal::AtanReduced(ratio);
  angle = steep ? internal::kHalfPi - (angle - internal::kHalfPiRest) : angle;
  angle = std::copysign(1.0f, x) < 0.0f ? internal::kPi - (angle - 2.0f * internal::kHalfPiRest) : angle;
  const float known = std::copysign(angle, y);
  return x != x || y != y ? internal::kNan : known;
}

MILLSTREAM_ALWAYS_INLINE float Asin(float x) {
  const float a = std::fabs(x);
  const bool large = a > 0.5f;
  const float y = internal::AsinReduced(large ? std::sqrt(0.5f - 0.5f * a) : a);
  return std::copysign(large ? internal::kHalfPi - (2.0f * y - internal::kHalfPiRest) : y, x);
}

MILLSTREAM_ALWAYS_INLINE float Acos(float x) {
  const float a = std::fabs(x);
  const bool large = a > 0.5f;
  const float y = internal::AsinReduced(large ? std::sqrt(0.5f - 0.5f * a) : x);
  const float near_end = x > 0.0f ? 2.0f * y : internal::kPi - (2.0f * y - 2.0f * internal::kHalfPiRest);
  return large ? near_end : internal::kHalfPi - (y - internal::kHalfPiRest);
}

MILLSTREAM_ALWAYS_INLINE float Sinh(float x) {
  const float a = std::fabs(x);
  const float e = Expm1(a > 30.0f ? 30.0f : a);
  const float root = Exp(0.5f * a);  // exp(a) itself may be infinite where sinh is not
  const float y = a > 30.0f ? (0.5f * root) * root : 0.5f * (e + e / (e + 1.0f));
  return std::copysign(y, x);
}

MILLSTREAM_ALWAYS_INLINE float Cosh(float x) {
  const float a = std::fabs(x);
  const float e = Exp(a > 30.0f ? 30.0f : a);
  const float root = Exp(0.5f * a);
  return a > 30.0f ? (0.5f * root) * root : 0.5f * e + 0.5f / e;
}

MILLSTREAM_ALWAYS_INLINE float Asinh(float x) {
  const float a = std::fabs(x);
  const bool large = a > 1e5f;
  const float b = large ? 1.0f : a;
  const float y = Log1p(b + b * b / (1.0f + std::sqrt(1.0f + b * b)));
  const float far = Log(a) + internal::kLn2;
  return std::copysign(large ? far : y, x);
}

MILLSTREAM_ALWAYS_INLINE float Acosh(float x) {
  const bool large = x > 1e5f;
  const float t = (large ? 2.0f : x) - 1.0f;
  const float y = Log1p(t + std::sqrt(t * (x > 1e5f ? 2.0f : x + 1.0f)));
  const float far = Log(x) + internal::kLn2;
  return large ? far : (x >= 1.0f ? y : internal::kNan);
}

MILLSTREAM_ALWAYS_INLINE float Atanh(float x) {
  const float a = std::fabs(x);
  const float y = 0.5f * Log1p(2.0f * a / (1.0f - a));
  return a <= 1.0f ? std::copysign(y, x) : internal::kNan;
}

// 1 - erf(x), exact also where that is near 0.
MILLSTREAM_ALWAYS_INLINE float Erfc(float x) {
  const float a = std::fabs(x), b = a > 10.2f ? 10.2f : a;
  const float u = 1.0f / (1.0f + 0.5f * b);
  float p = -6.124542990e-02f;
  p = p * u + 2.963254169e-01f;
  p = p * u - 5.121769432e-01f;
  p = p * u + 3.060136479e-01f;
  p = p * u - 4.481207661e-02f;
  p = p * u + 2.097661749e-01f;
  p = p * u + 2.414913576e-01f;
  p = p * u + 2.825719035e-01f;
  p = p * u + 2.820765847e-01f;
  // b = high + low, where the square of `high` is exact.
  const float high = std::bit_cast<float>(std::bit_cast<uint32_t>(b) & 0xfffff000u);
  const float y = Exp(-high * high) * Exp((high - b) * (high + b)) * (p * u);
  const float tail = x < 0.0f ? 2.0f - y : y;
  return a < 0.5f ? 1.0f - Erf(x) : tail;
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_FUNCTIONS_VECTOR_INVERSE_H_
