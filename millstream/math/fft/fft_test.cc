// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "millstream/math/simd.h"

namespace millstream::math {
namespace {

template <typename T>
class FftTest : public ::testing::Test {
 protected:
  using Complex = std::complex<T>;
  static constexpr double kTolerance = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;

  static std::vector<Complex> Random(int64_t count) {
    std::mt19937 generator(static_cast<uint32_t>(count));
    std::normal_distribution<double> normal;
    std::vector<Complex> x;
    for (int64_t i = 0; i < count; ++i) {
      const double re = normal(generator), im = normal(generator);
      x.emplace_back(static_cast<T>(re), static_cast<T>(im));
    }
    return x;
  }

  // Element k of the transform of n numbers `step` apart, by definition.
  static std::complex<double> Element(const Complex* x, int64_t step, int64_t n, int64_t k) {
    std::complex<double> sum;
    for (int64_t j = 0; j < n; ++j) {
      const double turns = static_cast<double>(j * k % n) / static_cast<double>(n);
      sum += std::complex<double>(x[j * step]) * std::polar(1.0, -2 * std::numbers::pi * turns);
    }
    return sum;
  }

  static double Distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
    double distance = 0;
    for (size_t i = 0; i < a.size(); ++i) distance = std::max(distance, static_cast<double>(std::abs(a[i] - b[i])));
    return distance;
  }

  // Complex lines against the definition and back, real lines against complex ones and back.
  static void Check(int64_t n, int64_t count, ThreadPool* pool) {
    SCOPED_TRACE(testing::Message() << count << " lines of " << n);
    const double tolerance = 4 * kTolerance * (1 + std::sqrt(static_cast<double>(n)));
    const FftPlan<T> plan(n, true);
    const FftLines rows{.outer_stride = n}, columns{.inner = count, .inner_stride = 1, .step = count};
    const std::vector<Complex> x = Random(n * count);
    std::vector<Complex> y(x.size()), z(x.size());
    plan.Run(x.data(), rows, y.data(), columns, count, false, T(1), pool);
    for (const int64_t line : {int64_t{0}, count - 1}) {
      for (int64_t k = 0; k < n; k += 1 + n / 20) {
        EXPECT_LE(std::abs(Element(&x[line * n], 1, n, k) - std::complex<double>(y[k * count + line])), tolerance) << k;
      }
    }
    plan.Run(y.data(), columns, y.data(), columns, count, true, T(1) / static_cast<T>(n), pool);
    plan.Run(x.data(), rows, z.data(), rows, count, false, T(1), pool);
    plan.Run(z.data(), rows, z.data(), rows, count, true, T(1) / static_cast<T>(n), pool);
    EXPECT_LE(Distance(z, x), tolerance);
    for (int64_t i = 0; i < n * count; ++i) ASSERT_LE(std::abs(y[i % n * count + i / n] - x[i]), tolerance);
    CheckReal(plan, count, tolerance, pool);
  }

  static void CheckReal(const FftPlan<T>& plan, int64_t count, double tolerance, ThreadPool* pool) {
    const int64_t n = plan.size(), half = n / 2 + 1;
    std::vector<Complex> x = Random(n * count), whole(x.size()), spectrum(static_cast<size_t>(half * count));
    std::vector<T> real, back(x.size());
    for (Complex& c : x) real.push_back((c = c.real()).real());
    plan.Run(x.data(), {.outer_stride = n}, whole.data(), {.outer_stride = n}, count, false, T(1), pool);
    plan.RunFromReal(real.data(), {.outer_stride = n}, spectrum.data(), {.outer_stride = half}, count, pool);
    for (int64_t i = 0; i < half * count; ++i) {
      ASSERT_LE(std::abs(spectrum[i] - whole[i / half * n + i % half]), tolerance) << i;
    }
    // Imaginary parts that a transform of real numbers does not have are ignored.
    for (int64_t line = 0; line < count; ++line) {
      spectrum[line * half].imag(T(3));
      if (n % 2 == 0) spectrum[line * half + n / 2].imag(T(3));
    }
    plan.RunToReal(spectrum.data(), {.outer_stride = half}, back.data(), {.outer_stride = n}, count,
                   T(1) / static_cast<T>(n), pool);
    for (int64_t i = 0; i < n * count; ++i) ASSERT_NEAR(back[i], real[i], tolerance) << i;
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FftTest, Types);

TYPED_TEST(FftTest, EveryLengthCountAndInstructionSet) {
  ThreadPool pool(2);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const int64_t count : {1, 2, 5, 16, 33}) {
      for (int64_t n = 1; n <= 40; ++n) this->Check(n, count, &pool);
      for (const int64_t n : {64, 74, 97, 121, 210, 243, 256, 509, 625, 1000, 1009, 1024, 2018}) {
        this->Check(n, count, nullptr);
      }
    }
  }
}

TYPED_TEST(FftTest, LongLines) {
  ThreadPool pool(2);
  for (const int64_t n : {1 << 16, 65537, 2 * 3 * 5 * 7 * 11 * 13}) this->Check(n, 1, &pool);
}

TYPED_TEST(FftTest, ThreadsDoNotChangeTheResult) {
  ThreadPool one(1), three(3);
  for (const int64_t n : {1009, 4096}) {
    for (const int64_t count : {1, 70}) {
      const FftPlan<TypeParam> plan(n);
      const auto x = this->Random(n * count);
      auto a = x, b = x;
      plan.Run(x.data(), {.outer_stride = n}, a.data(), {.outer_stride = n}, count, false, TypeParam(1), &one);
      plan.Run(x.data(), {.outer_stride = n}, b.data(), {.outer_stride = n}, count, false, TypeParam(1), &three);
      EXPECT_EQ(a, b);
    }
  }
}

TYPED_TEST(FftTest, ALineDoesNotTouchItsNeighbours) {
  // Neighbours share vector registers.
  for (const int64_t n : {15, 16, 37}) {
    const FftPlan<TypeParam> plan(n, true);
    std::vector<TypeParam> x(static_cast<size_t>(8 * n), TypeParam(1));
    x[3 * n] = std::numeric_limits<TypeParam>::quiet_NaN();
    std::vector<std::complex<TypeParam>> y(static_cast<size_t>(8 * (n / 2 + 1)));
    plan.RunFromReal(x.data(), {.outer_stride = n}, y.data(), {.outer_stride = n / 2 + 1}, 8, nullptr);
    for (int64_t line = 0; line < 8; ++line) {
      EXPECT_EQ(std::isnan(y[line * (n / 2 + 1)].real()), line == 3) << line;
    }
  }
}

}  // namespace
}  // namespace millstream::math
