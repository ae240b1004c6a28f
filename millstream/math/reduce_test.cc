// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <random>
#include <vector>

#include "millstream/tensor/float16.h"

namespace millstream::math {
namespace {

constexpr simd::Isa kAllIsas[] = {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512};
const ReduceShape kShapes[] = {{1, 0, 1},     {3, 0, 1},     {2, 0, 5},    {0, 4, 3},    {4, 3, 0},     {1, 1, 1},
                               {5, 7, 1},     {33, 10, 1},   {7, 33, 1},   {3, 1000, 1}, {1, 5000, 1},  {2, 200003, 1},
                               {40, 5000, 1}, {1, 100, 500}, {3, 7, 11},   {1, 3, 10},   {1, 1001, 10}, {2, 40000, 3},
                               {1, 9, 1200},  {20, 5, 33},   {1, 4500, 64}};

// The naive loop, in double or, for integers, in 64 bits that wrap.
template <typename Acc, typename T, typename Combine>
std::vector<Acc> Naive(const std::vector<T>& in, const ReduceShape& s, Acc neutral, Combine combine) {
  std::vector<Acc> out(s.outer * s.inner, neutral);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t r = 0; r < s.reduce; ++r) {
      for (int64_t i = 0; i < s.inner; ++i) {
        Acc& acc = out[o * s.inner + i];
        acc = combine(acc, static_cast<Acc>(in[(o * s.reduce + r) * s.inner + i]));
      }
    }
  }
  return out;
}

template <typename T>
std::vector<T> RandomValues(const ReduceShape& s, float low, float high) {
  std::mt19937 random(17);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<T> values(s.outer * s.reduce * s.inner);
  for (T& v : values) v = static_cast<T>(uniform(random));
  return values;
}

template <typename Op, typename T, typename Combine>
void ExpectMatchesNaive(float low, float high, double neutral, Combine combine, double tolerance) {
  ThreadPool pool(3);
  for (const ReduceShape& s : kShapes) {
    const std::vector<T> in = RandomValues<T>(s, low, high);
    const auto want = Naive<double>(in, s, neutral, combine);
    for (simd::Isa isa : kAllIsas) {
      simd::ScopedIsa forced(isa);
      std::vector<T> alone(want.size()), shared(want.size());
      Reduce<Op>(in.data(), alone.data(), s, nullptr);
      Reduce<Op>(in.data(), shared.data(), s, &pool);
      for (size_t i = 0; i < want.size(); ++i) {
        const double expected = std::is_same_v<Op, reduction::Mean> ? want[i] / s.reduce : want[i];
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(static_cast<double>(alone[i])));
          continue;
        }
        if (!std::isinf(expected)) {
          ASSERT_NEAR(static_cast<double>(alone[i]), expected, tolerance * (1 + std::fabs(expected)))
              << s.outer << "x" << s.reduce << "x" << s.inner << " at " << i;
        } else {
          ASSERT_EQ(static_cast<double>(alone[i]), expected);
        }
        ASSERT_EQ(alone[i], shared[i]) << "depends on threads";
      }
    }
  }
}

const auto kPlus = [](double a, double b) { return a + b; };
const auto kTimes = [](double a, double b) { return a * b; };
const auto kPlusSquare = [](double a, double b) { return a + b * b; };
const auto kMax = [](double a, double b) { return std::max(a, b); };
const auto kMin = [](double a, double b) { return std::min(a, b); };
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ReduceTest, Float) {
  ExpectMatchesNaive<reduction::Sum, float>(0, 1, 0, kPlus, 3e-7);
  ExpectMatchesNaive<reduction::Mean, float>(0, 1, 0, kPlus, 3e-7);
  ExpectMatchesNaive<reduction::SumSquares, float>(-1, 1, 0, kPlusSquare, 3e-7);
  ExpectMatchesNaive<reduction::Prod, float>(0.999, 1.001, 1, kTimes, 1e-4);
  ExpectMatchesNaive<reduction::Max, float>(-1, 1, -kInf, kMax, 0);
  ExpectMatchesNaive<reduction::Min, float>(-1, 1, kInf, kMin, 0);
}

TEST(ReduceTest, Double) {
  ExpectMatchesNaive<reduction::Sum, double>(0, 1, 0, kPlus, 1e-11);
  ExpectMatchesNaive<reduction::Mean, double>(0, 1, 0, kPlus, 1e-11);
  ExpectMatchesNaive<reduction::SumSquares, double>(-1, 1, 0, kPlusSquare, 1e-11);
  ExpectMatchesNaive<reduction::Max, double>(-1, 1, -kInf, kMax, 0);
  ExpectMatchesNaive<reduction::Min, double>(-1, 1, kInf, kMin, 0);
}

TEST(ReduceTest, SixteenBitFloatsAccumulateInFloat) {
  ExpectMatchesNaive<reduction::Sum, BFloat16>(0, 1, 0, kPlus, 4e-3);
  ExpectMatchesNaive<reduction::Mean, Half>(0, 1, 0, kPlus, 5e-4);
  ExpectMatchesNaive<reduction::Max, Half>(-1, 1, -kInf, kMax, 0);
}

TEST(ReduceTest, IntegersWrap) {
  for (const ReduceShape& s : kShapes) {
    const auto in = RandomValues<int32_t>(s, -2e9, 2e9);
    const auto want = Naive<uint32_t>(in, s, 0u, [](uint32_t a, uint32_t b) { return a + b; });
    const auto product = Naive<uint32_t>(in, s, 1u, [](uint32_t a, uint32_t b) { return a * b; });
    std::vector<int32_t> out(want.size());
    Reduce<reduction::Sum>(in.data(), out.data(), s, nullptr);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<int32_t>(want[i]));
    }
    Reduce<reduction::Prod>(in.data(), out.data(), s, nullptr);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(out[i], static_cast<int32_t>(product[i]));
    }
    Reduce<reduction::Mean>(in.data(), out.data(), s, nullptr);
    for (size_t i = 0; i < want.size(); ++i) {
      const auto sum = static_cast<int32_t>(want[i]);
      ASSERT_EQ(out[i], s.reduce == 0 ? 0 : sum / static_cast<int32_t>(s.reduce));
    }
  }
  const int8_t small[] = {100, 100, -3};
  int8_t result;
  Reduce<reduction::Sum>(small, &result, {1, 3, 1}, nullptr);
  EXPECT_EQ(result, static_cast<int8_t>(197));
  Reduce<reduction::Min>(small, &result, {1, 3, 1}, nullptr);
  EXPECT_EQ(result, -3);
}

TEST(ReduceTest, NanWinsInMaxAndMin) {
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    for (int64_t at : {0, 5, 40, 99}) {
      std::vector<float> in(100, 1.0f);
      in[at] = std::nanf("");
      float out = 0;
      Reduce<reduction::Max>(in.data(), &out, {1, 100, 1}, nullptr);
      EXPECT_TRUE(std::isnan(out)) << at;
      Reduce<reduction::Min>(in.data(), &out, {1, 100, 1}, nullptr);
      EXPECT_TRUE(std::isnan(out)) << at;
    }
  }
}

TEST(ReduceTest, AllAndAny) {
  for (const ReduceShape& s : kShapes) {
    const size_t size = s.outer * s.reduce * s.inner;
    const auto in = std::make_unique<bool[]>(size + 1);
    const auto out = std::make_unique<bool[]>(s.outer * s.inner + 1);
    for (const bool fill : {false, true}) {
      std::fill_n(in.get(), size, fill);
      if (size > 0) in[size / 2] = !fill;
      const std::vector<bool> values(in.get(), in.get() + size);
      const auto want = Naive<int>(values, s, fill ? 1 : 0, [&](int a, int b) { return fill ? a & b : a | b; });
      if (fill) {
        Reduce<reduction::All>(in.get(), out.get(), s, nullptr);
      } else {
        Reduce<reduction::Any>(in.get(), out.get(), s, nullptr);
      }
      for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(out[i], want[i] != 0);
    }
  }
}

TEST(ReduceTest, Complex) {
  const std::complex<float> in[] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  std::complex<float> out[2];
  Reduce<reduction::Sum>(in, out, {2, 2, 1}, nullptr);
  EXPECT_EQ(out[0], std::complex<float>(4, 6));
  Reduce<reduction::Mean>(in, out, {1, 2, 2}, nullptr);
  EXPECT_EQ(out[1], std::complex<float>(5, 6));
  Reduce<reduction::Prod>(in, out, {2, 2, 1}, nullptr);
  EXPECT_EQ(out[0], std::complex<float>(-5, 10));
}

}  // namespace
}  // namespace millstream::math
