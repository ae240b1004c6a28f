// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/complex_near_zero.h"

#include "gtest/gtest.h"

namespace millstream {
namespace {

template <typename T>
void ExpectNear(const std::complex<T>& got, const std::complex<double>& want, double tolerance) {
  EXPECT_NEAR(got.real(), want.real(), tolerance * std::fabs(want.real())) << want;
  EXPECT_NEAR(got.imag(), want.imag(), tolerance * std::fabs(want.imag())) << want;
}

TEST(ComplexNearZeroTest, SmallNumbersKeepTheirDigits) {
  for (const std::complex<double> z :
       {std::complex(1e-9, -2e-9), std::complex(0.0, 4e-10), std::complex(-3e-12, 1e-9)}) {
    const std::complex<double> half_square = z * z / 2.0;  // what comes after z in both series
    ExpectNear(ComplexLog1p(z), z - half_square, 1e-14);
    ExpectNear(ComplexExpm1(z), z + half_square, 1e-14);
    const std::complex<float> narrow(z);
    const std::complex<double> wide(narrow);
    ExpectNear(ComplexLog1p(narrow), wide - wide * wide / 2.0, 1e-6);
    ExpectNear(ComplexExpm1(narrow), wide + wide * wide / 2.0, 1e-6);
  }
}

TEST(ComplexNearZeroTest, OthersAreAsByLogarithmAndPower) {
  for (const double a : {-3.0, -1.5, -0.5, -0.49, -0.1, 0.1, 0.49, 0.5, 7.0}) {
    for (const double b : {-2.0, -0.5, -0.49, 0.1, 0.3, 0.51, 4.0}) {
      const std::complex z(a, b);
      EXPECT_LT(std::abs(ComplexLog1p(z) - std::log(1.0 + z)), 1e-15 * 8) << z;
      EXPECT_LT(std::abs(ComplexExpm1(z) - (std::exp(z) - 1.0)), 1e-15 * std::abs(std::exp(z)) * 8) << z;
    }
  }
}

}  // namespace
}  // namespace millstream
