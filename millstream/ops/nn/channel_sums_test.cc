// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/channel_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "millstream/math/simd.h"

namespace millstream {
namespace {

struct Sums {
  std::vector<double> first, second;
};

int64_t ChannelOf(const NormView& v, int64_t i) { return i / v.inner % v.channels; }
int64_t SizeOf(const NormView& v) { return v.outer * v.channels * v.inner; }

std::vector<float> RandomValues(const NormView& v, float center, float spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(center, spread);
  std::vector<float> x(static_cast<size_t>(SizeOf(v)));
  for (float& value : x) value = normal(random);
  return x;
}

Sums Moments(const NormView& v, const std::vector<float>& x, ThreadPool* pool) {
  Sums s{std::vector<double>(v.channels), std::vector<double>(v.channels)};
  SumMoments(pool, v, x.data(), s.first.data(), s.second.data());
  return s;
}

Sums Products(const NormView& v, const std::vector<float>& x, const std::vector<float>& mean,
              const std::vector<float>& g, ThreadPool* pool) {
  Sums s{std::vector<double>(v.channels), std::vector<double>(v.channels)};
  SumProducts(pool, v, x.data(), mean.data(), PlainGradient{g.data()}, s.first.data(), s.second.data());
  return s;
}

Sums PlainMoments(const NormView& v, const std::vector<float>& x) {
  Sums s{std::vector<double>(v.channels), std::vector<double>(v.channels)};
  for (int64_t i = 0; i < SizeOf(v); ++i) s.first[ChannelOf(v, i)] += static_cast<double>(x[i]);
  for (int64_t i = 0; i < SizeOf(v); ++i) {
    const int64_t c = ChannelOf(v, i);
    s.second[c] += std::pow(static_cast<double>(x[i]) - s.first[c] / static_cast<double>(v.places()), 2);
  }
  return s;
}

const NormView kViews[] = {{1, 1, 1},      {3, 5, 1},    {7, 64, 1},   {1000, 3, 1}, {4099, 17, 1}, {9, 20000, 1},
                           {20000, 32, 1}, {1, 1, 9000}, {2, 3, 8193}, {5, 40, 7},   {3, 64, 196},  {1, 2, 2}};

TEST(ChannelSumsTest, MomentsAreThoseOfTwoPassesInDouble) {
  ThreadPool pool(3);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const NormView& v : kViews) {
      for (const float center : {0.0f, 3.0f, -1000.0f}) {
        const std::vector<float> x = RandomValues(v, center, 1, 5);
        const Sums got = Moments(v, x, &pool), want = PlainMoments(v, x);
        for (int64_t c = 0; c < v.channels; ++c) {
          const auto n = static_cast<double>(v.places());
          EXPECT_NEAR(got.first[c] / n, want.first[c] / n, 2e-6 * (1 + std::abs(static_cast<double>(center))));
          // Values of 1000 have a spacing of 6e-5, and so has the mean of a block.
          EXPECT_NEAR(got.second[c] / n, want.second[c] / n, center == -1000.0f ? 1e-3 : 3e-6)
              << v.outer << " x " << v.channels << " x " << v.inner << ", center " << center;
        }
      }
    }
  }
}

// One large value at the begin must not take the digits of all others.
TEST(ChannelSumsTest, AnOutlierDoesNotSpoilTheVariance) {
  for (const NormView& v : {NormView{20000, 16, 1}, NormView{1, 16, 20000}}) {
    std::vector<float> x = RandomValues(v, 0, 1e-3f, 6);
    for (int64_t c = 0; c < v.channels; ++c) x[c * v.inner] = 100;
    const Sums got = Moments(v, x, nullptr), want = PlainMoments(v, x);
    for (int64_t c = 0; c < v.channels; ++c) EXPECT_NEAR(got.second[c] / want.second[c], 1, 1e-5);
  }
}

TEST(ChannelSumsTest, ProductsAreThoseOfOnePassInDouble) {
  ThreadPool pool(3);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const NormView& v : kViews) {
      const std::vector<float> x = RandomValues(v, 3, 1, 7), g = RandomValues(v, 0, 1, 8);
      std::vector<float> mean(v.channels);
      for (int64_t c = 0; c < v.channels; ++c) mean[c] = 3.0f + static_cast<float>(c % 7) / 8;
      Sums want{std::vector<double>(v.channels), std::vector<double>(v.channels)};
      for (int64_t i = 0; i < SizeOf(v); ++i) {
        const int64_t c = ChannelOf(v, i);
        want.first[c] += static_cast<double>(g[i]);
        want.second[c] += static_cast<double>(g[i]) * (static_cast<double>(x[i]) - static_cast<double>(mean[c]));
      }
      const Sums got = Products(v, x, mean, g, &pool);
      for (int64_t c = 0; c < v.channels; ++c) {
        const double tolerance = 2e-6 * std::sqrt(static_cast<double>(v.places())) + 1e-6;
        EXPECT_NEAR(got.first[c], want.first[c], tolerance * 10);
        EXPECT_NEAR(got.second[c], want.second[c], tolerance * 10);
      }
    }
  }
}

TEST(ChannelSumsTest, ResultsDoNotDependOnTheNumberOfThreads) {
  ThreadPool two(2), five(5);
  for (const NormView& v : kViews) {
    const std::vector<float> x = RandomValues(v, 1, 2, 9), g = RandomValues(v, 0, 1, 10), mean(v.channels, 0.5f);
    const Sums moments = Moments(v, x, nullptr), products = Products(v, x, mean, g, nullptr);
    for (ThreadPool* pool : {&two, &five}) {
      const Sums m = Moments(v, x, pool), p = Products(v, x, mean, g, pool);
      EXPECT_EQ(m.first, moments.first);
      EXPECT_EQ(m.second, moments.second);
      EXPECT_EQ(p.first, products.first);
      EXPECT_EQ(p.second, products.second);
    }
  }
}

TEST(ChannelSumsTest, EqualValuesHaveNoVarianceAndNansStay) {
  for (const NormView& v : {NormView{5000, 3, 1}, NormView{2, 3, 5000}}) {
    std::vector<float> x(static_cast<size_t>(SizeOf(v)), 0.1f);
    x[v.inner] = std::numeric_limits<float>::quiet_NaN();  // of channel 1
    const Sums s = Moments(v, x, nullptr);
    for (const int c : {0, 2}) {
      EXPECT_GE(s.second[c], 0);
      EXPECT_LT(s.second[c] / static_cast<double>(v.places()), 1e-12);
    }
    EXPECT_TRUE(std::isnan(s.first[1]));
    EXPECT_TRUE(std::isnan(s.second[1]));
  }
}

// A clamp lets gradients pass where the normalized value is inside: sums are those of the gradients that passed.
TEST(ChannelSumsTest, ClampedGradientsAreSummedWhereTheyPass) {
  ThreadPool pool(3);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const NormView& v : kViews) {
      const std::vector<float> x = RandomValues(v, 1, 2, 1), g = RandomValues(v, 0.5, 1, 2);
      const NormView channels{1, v.channels, 1};
      const std::vector<float> mean = RandomValues(channels, 1, 0.1f, 3), slope = RandomValues(channels, 2, 0.5, 4);
      const std::vector<float> offset = RandomValues(channels, 1, 0.5, 5);
      for (const float end : {6.0f, std::nanf("")}) {
        std::vector<float> passed = g;
        for (int64_t i = 0; i < SizeOf(v); ++i) {
          const int64_t c = ChannelOf(v, i);
          const float z = std::fma(x[i] - mean[c], slope[c], offset[c]);
          if (!(z > 0) || z >= end) passed[i] = 0;
        }
        const Sums want = Products(v, x, mean, passed, &pool);
        Sums got{std::vector<double>(v.channels), std::vector<double>(v.channels)};
        SumProducts(&pool, v, x.data(), mean.data(),
                    ClampedGradient{g.data(), x.data(), mean.data(), slope.data(), offset.data(), end},
                    got.first.data(), got.second.data());
        for (int64_t c = 0; c < v.channels; ++c) {
          // A value within rounding of a border may fall on either side without fused multiply-adds.
          ASSERT_NEAR(got.first[c], want.first[c], 1e-3 * static_cast<double>(v.places()) + 1e-3) << c;
          ASSERT_NEAR(got.second[c], want.second[c], 1e-3 * static_cast<double>(v.places()) + 1e-3) << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace millstream
