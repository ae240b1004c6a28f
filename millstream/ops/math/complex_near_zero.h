// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_MATH_COMPLEX_NEAR_ZERO_H_
#define MILLSTREAM_OPS_MATH_COMPLEX_NEAR_ZERO_H_

#include <cmath>
#include <complex>

namespace millstream {

// log(1 + z), with all digits also where z is small.
template <typename T>
std::complex<T> ComplexLog1p(const std::complex<T>& z) {
  const double a = z.real(), b = z.imag();
  if (!(std::fabs(a) < 0.5 && std::fabs(b) < 0.5)) return std::log(T(1) + z);
  // |1 + z|^2 = 1 + a * (2 + a) + b^2
  return {static_cast<T>(0.5 * std::log1p(a * (2 + a) + b * b)), static_cast<T>(std::atan2(b, 1 + a))};
}

// exp(z) - 1, with all digits also where z is small.
template <typename T>
std::complex<T> ComplexExpm1(const std::complex<T>& z) {
  const double a = z.real(), b = z.imag();
  if (!(std::fabs(a) < 0.5 && std::fabs(b) < 0.5)) return std::exp(z) - T(1);
  // cos(b) = 1 - 2 * sin(b / 2)^2
  const double half = std::sin(b / 2);
  return {static_cast<T>(std::expm1(a) * std::cos(b) - 2 * half * half), static_cast<T>(std::exp(a) * std::sin(b))};
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_MATH_COMPLEX_NEAR_ZERO_H_
