// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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
