// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_VECTOR_DOUBLE_H_
#define MILLSTREAM_MATH_VECTOR_DOUBLE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "millstream/math/vector_math.h"

// The functions of vector_math.h with vector code for double as well, where vector_math.h calls libm: without branches
// and calls, relative error at most 4e-16, 1e-15 for Tanh, Sigmoid and Softplus; infinities, NaN and zero give what
// libm gives. Only what AVX2 has for 64-bit integers is used: no arithmetic shift, no conversion.
namespace millstream::math::wide {
namespace internal {

inline constexpr double kInfDouble = std::numeric_limits<double>::infinity();
inline constexpr double kNanDouble = std::numeric_limits<double>::quiet_NaN();
// Adding it leaves the nearest integer in the low bits of the sum.
inline constexpr double kRoundDouble = 6755399441055744.0;  // 1.5 * 2^52
// kLn2HiDouble has 32 bits, so that its products with exponents are exact.
inline constexpr double kLn2HiDouble = 0x1.62e42feep-1;
inline constexpr double kLn2LoDouble = 0x1.a39ef35793c76p-33;

// 2^n for the n that `shifted` holds beside kRoundDouble. REQUIRES: -1022 <= n <= 1023.
MILLSTREAM_ALWAYS_INLINE double PowerOfShifted(double shifted) {
  return std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
}

// x = n ln 2 + r with |r| <= ln 2 / 2.
struct WideExpArgument {
  double n, r;
};
MILLSTREAM_ALWAYS_INLINE WideExpArgument ReduceExp(double x) {
  const double n = (x * 1.44269504088896340736 + kRoundDouble) - kRoundDouble;
  return {n, (x - n * kLn2HiDouble) - n * kLn2LoDouble};
}

// exp(r) - 1 for |r| <= ln 2 / 2, by the terms of its series.
MILLSTREAM_ALWAYS_INLINE double Expm1Reduced(double r) {
  double q = 1.0 / 6227020800.0;
  q = q * r + 1.0 / 479001600.0;
  q = q * r + 1.0 / 39916800.0;
  q = q * r + 1.0 / 3628800.0;
  q = q * r + 1.0 / 362880.0;
  q = q * r + 1.0 / 40320.0;
  q = q * r + 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  return r + (r * r) * q;
}

// x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). REQUIRES: x is normal and positive.
struct WideLogArgument {
  double e, f;
};
MILLSTREAM_ALWAYS_INLINE WideLogArgument ReduceLog(double x) {
  constexpr uint64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd, kBias = 2048;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t e = (bits - kSqrtHalfBits + (kBias << 52)) >> 52;  // kBias more than the exponent, modulo 4096
  const double wide = std::bit_cast<double>((e & 4095) | 0x4330000000000000) - (4503599627370496.0 + kBias);
  return {wide, std::bit_cast<double>(bits - ((e - kBias) << 52)) - 1.0};
}

// e ln 2 + log(1 + f), by the series of 2 atanh(f / (2 + f)).
MILLSTREAM_ALWAYS_INLINE double LogReduced(double e, double f) {
  const double s = f / (2.0 + f), z = s * s;
  double p = 2.0 / 21.0;
  p = p * z + 2.0 / 19.0;
  p = p * z + 2.0 / 17.0;
  p = p * z + 2.0 / 15.0;
  p = p * z + 2.0 / 13.0;
  p = p * z + 2.0 / 11.0;
  p = p * z + 2.0 / 9.0;
  p = p * z + 2.0 / 7.0;
  p = p * z + 2.0 / 5.0;
  p = p * z + 2.0 / 3.0;
  const double half = 0.5 * f * f;
  const double tail = s * (half + z * p) + e * kLn2LoDouble;
  return e * kLn2HiDouble - ((half - tail) - f);
}

}  // namespace internal

MILLSTREAM_ALWAYS_INLINE double Exp(double x) {
  x = x > 710.0 ? 710.0 : x;  // both bounds keep NaN
  x = x < -746.0 ? -746.0 : x;
  const internal::WideExpArgument a = internal::ReduceExp(x);
  // Two factors reach the subnormal numbers and infinity.
  const double half = 0.5 * a.n + internal::kRoundDouble;
  const double rest = a.n - (half - internal::kRoundDouble) + internal::kRoundDouble;
  return (1.0 + internal::Expm1Reduced(a.r)) * internal::PowerOfShifted(half) * internal::PowerOfShifted(rest);
}

MILLSTREAM_ALWAYS_INLINE double Expm1(double x) {
  const double bounded = x > 710.0 ? 710.0 : (x < -50.0 ? -50.0 : x);
  const internal::WideExpArgument a = internal::ReduceExp(bounded);
  const double p = internal::Expm1Reduced(a.r);
  const double scale = internal::PowerOfShifted(a.n - 1.0 + internal::kRoundDouble);
  const double y = 2.0 * (scale * p + (scale - 0.5));
  return a.n == 0.0 ? p : y;
}

MILLSTREAM_ALWAYS_INLINE double Log(double x) {
  const bool subnormal = x < std::numeric_limits<double>::min();
  const internal::WideLogArgument a = internal::ReduceLog(subnormal ? x * 4503599627370496.0 : x);
  const double y = internal::LogReduced(a.e - (subnormal ? 52.0 : 0.0), a.f);
  const double finite = x < internal::kInfDouble ? y : x;  // infinity and NaN
  return x > 0.0 ? finite : (x == 0.0 ? -internal::kInfDouble : internal::kNanDouble);
}

MILLSTREAM_ALWAYS_INLINE double Log1p(double x) {
  const double u = 1.0 + x;
  // What the rounding of u lost.
  const double c = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  const internal::WideLogArgument a = internal::ReduceLog(u);
  const double e = a.e < 1022.0 ? a.e : 1022.0;
  const double y = internal::LogReduced(a.e, a.f + c * internal::PowerOfShifted(internal::kRoundDouble - e));
  const double finite = x < internal::kInfDouble ? y : x;
  return x > -1.0 ? finite : (x == -1.0 ? -internal::kInfDouble : internal::kNanDouble);
}

MILLSTREAM_ALWAYS_INLINE double Tanh(double x) {
  const double a = std::fabs(x);
  const double y = Expm1(a > 25.0 ? -50.0 : -2.0 * a);
  return std::copysign(y / (2.0 + y), x);
}

MILLSTREAM_ALWAYS_INLINE double Sigmoid(double x) {
  const double y = Exp(-std::fabs(x));
  return (x < 0.0 ? y : 1.0) / (1.0 + y);
}

MILLSTREAM_ALWAYS_INLINE double Softplus(double x) {
  return (x > 0.0 ? x : (x <= 0.0 ? 0.0 : x)) + Log1p(Exp(-std::fabs(x)));
}

MILLSTREAM_ALWAYS_INLINE float Exp(float x) { return math::Exp(x); }
MILLSTREAM_ALWAYS_INLINE float Expm1(float x) { return math::Expm1(x); }
MILLSTREAM_ALWAYS_INLINE float Log(float x) { return math::Log(x); }
MILLSTREAM_ALWAYS_INLINE float Log1p(float x) { return math::Log1p(x); }
MILLSTREAM_ALWAYS_INLINE float Tanh(float x) { return math::Tanh(x); }
MILLSTREAM_ALWAYS_INLINE float Sigmoid(float x) { return math::Sigmoid(x); }
MILLSTREAM_ALWAYS_INLINE float Softplus(float x) { return math::Softplus(x); }

}  // namespace millstream::math::wide

#endif  // MILLSTREAM_MATH_VECTOR_DOUBLE_H_
