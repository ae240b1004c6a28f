// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "millstream/math/functions/vector_inverse.h"
#include "millstream/math/vector_double.h"

namespace millstream::math {
namespace {

constexpr simd::Isa kAllIsas[] = {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every 9973rd bit pattern, which covers both signs, all exponents, infinities
// and NaN, and some special points.
std::vector<float> AllMagnitudes() {
  std::vector<float> x = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNan, 88.72284f, -87.4f, -103.9f, 1e-45f, 3e38f};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 9973) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return x;
}

void ExpectNear(float got, double want, double tolerance, float x) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0.0f) {
    if (std::isnan(rounded)) {
      ASSERT_TRUE(std::isnan(got)) << x;
    } else {
      ASSERT_EQ(got, rounded) << x;
    }
    return;
  }
  const double subnormal = 1.5e-45;  // subnormal results have few bits
  ASSERT_LE(std::fabs(got - want), tolerance * std::fabs(want) + subnormal) << "x = " << x << ", got " << got;
}

template <typename Function, typename Reference>
void ExpectAccurate(Function function, Reference reference, double tolerance, float largest = kInf) {
  const std::vector<float> x = AllMagnitudes();
  std::vector<float> y(x.size());
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    const float* in = x.data();
    float* out = y.data();
    simd::For<float>(0, x.size(), [=](int64_t i) { out[i] = function(in[i]); });
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::fabs(x[i]) > largest) continue;
      ExpectNear(y[i], reference(static_cast<double>(x[i])), tolerance, x[i]);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

#define ACCURATE(Function, reference, ...)                                                                         \
  ExpectAccurate([](float v) MILLSTREAM_INLINE_LAMBDA { return Function(v); }, [](double v) { return reference; }, \
                 __VA_ARGS__)

TEST(VectorMathTest, Exp) { ACCURATE(Exp, std::exp(v), 1.5e-7); }
TEST(VectorMathTest, Expm1) { ACCURATE(Expm1, std::expm1(v), 1.5e-7); }
TEST(VectorMathTest, Log) { ACCURATE(Log, std::log(v), 1.5e-7); }
TEST(VectorMathTest, Log1p) { ACCURATE(Log1p, std::log1p(v), 1.5e-7); }
TEST(VectorMathTest, Tanh) { ACCURATE(Tanh, std::tanh(v), 2e-7); }
TEST(VectorMathTest, Sigmoid) { ACCURATE(Sigmoid, 1 / (1 + std::exp(-v)), 2e-7); }
TEST(VectorMathTest, Softplus) { ACCURATE(Softplus, v > 40 ? v : std::log1p(std::exp(v)), 2e-7); }
TEST(VectorMathTest, Erf) { ACCURATE(Erf, std::erf(v), 4e-7); }
TEST(VectorMathTest, Rsqrt) { ACCURATE(Rsqrt, 1 / std::sqrt(v), 1.5e-7); }
TEST(VectorMathTest, Sin) { ACCURATE(Sin, std::sin(v), 1.5e-7, 1.6e6f); }
TEST(VectorMathTest, Cos) { ACCURATE(Cos, std::cos(v), 1.5e-7, 1.6e6f); }

TEST(VectorMathTest, Erfc) { ACCURATE(Erfc, std::erfc(v), 5e-7); }
TEST(VectorMathTest, Atan) { ACCURATE(Atan, std::atan(v), 2e-7); }
TEST(VectorMathTest, Asin) { ACCURATE(Asin, std::asin(v), 4e-7); }
TEST(VectorMathTest, Acos) { ACCURATE(Acos, std::acos(v), 2.5e-7); }
TEST(VectorMathTest, Sinh) { ACCURATE(Sinh, std::sinh(v), 4e-7); }
TEST(VectorMathTest, Cosh) { ACCURATE(Cosh, std::cosh(v), 4e-7); }
TEST(VectorMathTest, Asinh) { ACCURATE(Asinh, std::asinh(v), 4e-7); }
TEST(VectorMathTest, Acosh) { ACCURATE(Acosh, std::acosh(v), 4e-7); }
TEST(VectorMathTest, Atanh) { ACCURATE(Atanh, std::atanh(v), 4e-7); }

TEST(VectorMathTest, Atan2) {
  std::vector<float> points = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNan, 3e38f, -3e38f, 1e-38f, 1e-45f};
  for (int i = 0; i < 300; ++i)
    points.push_back(std::ldexp(1.0f + i * 0.37f, (i * 7) % 200 - 100) * (i % 2 == 0 ? 1 : -1));
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    for (const float y : points) {
      std::vector<float> got(points.size());
      simd::For<float>(0, static_cast<int64_t>(points.size()),
                       [=, x = points.data(), z = got.data()](int64_t i) { z[i] = Atan2(y, x[i]); });
      for (size_t i = 0; i < points.size(); ++i) {
        ExpectNear(got[i], std::atan2(static_cast<double>(y), static_cast<double>(points[i])), 3e-7, points[i]);
        ASSERT_EQ(std::signbit(got[i]) && !std::isnan(y), std::signbit(std::atan2(y, points[i])) && !std::isnan(y))
            << y << " " << points[i];
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Signs and exponents of all kinds.
std::vector<double> WideMagnitudes() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> x = {0.0, -0.0, 1.0, -1.0, inf, -inf, std::nan(""), 709.78, -745.1, 5e-324, 1e308, -0.9999999999};
  for (uint64_t i = 0; i < 200000; ++i) x.push_back(std::bit_cast<double>(i * 92233720368547ull + i * i));
  for (int i = -20000; i <= 20000; ++i) x.push_back(i * 0.0371), x.push_back(1 + i * 1e-7);
  return x;
}

template <typename Function, typename Reference>
void ExpectAccurateDouble(Function function, Reference reference, double tolerance) {
  const std::vector<double> x = WideMagnitudes();
  std::vector<double> y(x.size());
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    simd::For<double>(0, static_cast<int64_t>(x.size()),
                      [=, in = x.data(), out = y.data()](int64_t i) { out[i] = function(in[i]); });
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = reference(x[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(y[i])) << x[i];
      } else if (std::isinf(want) || want == 0) {
        ASSERT_EQ(y[i], want) << x[i];
      } else {
        ASSERT_LE(std::fabs(y[i] - want), tolerance * std::fabs(want) + 1e-323) << "x = " << x[i] << ", got " << y[i];
      }
    }
  }
}

#define ACCURATE_DOUBLE(Function, reference, tolerance)                               \
  ExpectAccurateDouble([](double v) MILLSTREAM_INLINE_LAMBDA { return Function(v); }, \
                       [](double v) { return reference; }, tolerance)

TEST(VectorMathTest, ExpOfDouble) { ACCURATE_DOUBLE(wide::Exp, std::exp(v), 4e-16); }
TEST(VectorMathTest, Expm1OfDouble) { ACCURATE_DOUBLE(wide::Expm1, std::expm1(v), 4e-16); }
TEST(VectorMathTest, LogOfDouble) { ACCURATE_DOUBLE(wide::Log, std::log(v), 4e-16); }
TEST(VectorMathTest, Log1pOfDouble) { ACCURATE_DOUBLE(wide::Log1p, std::log1p(v), 5e-16); }
TEST(VectorMathTest, TanhOfDouble) { ACCURATE_DOUBLE(wide::Tanh, std::tanh(v), 1e-15); }
TEST(VectorMathTest, SigmoidOfDouble) {
  ACCURATE_DOUBLE(wide::Sigmoid, v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v)), 1e-15);
}
TEST(VectorMathTest, SoftplusOfDouble) { ACCURATE_DOUBLE(wide::Softplus, v > 40 ? v : std::log1p(std::exp(v)), 1e-15); }

TEST(VectorMathTest, TrigonometricArraysAreAccurateEverywhere) {
  const std::vector<float> x = AllMagnitudes();
  std::vector<float> y = x, z(x.size());
  SinArray(y.data(), y.data(), y.size());
  CosArray(x.data(), z.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ExpectNear(y[i], std::sin(static_cast<double>(x[i])), 1.5e-7, x[i]);
    ExpectNear(z[i], std::cos(static_cast<double>(x[i])), 1.5e-7, x[i]);
    if (HasFatalFailure()) return;
  }
  SinArray(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace millstream::math
