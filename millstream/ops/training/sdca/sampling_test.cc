// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/sdca/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace millstream::sdca {
namespace {

std::vector<int64_t> Order(std::vector<double> importance, uint64_t seed = 3) {
  return AdaptiveOrder(importance, math::Philox(seed, 5));
}

TEST(SdcaSamplingTest, DrawsImportantExamplesFirst) {
  // The first is drawn in nearly all cases at once, and again with a tenth of its importance.
  int first = 0, again = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto order = Order({1000, 1, 1, 1, 1}, seed);
    ASSERT_EQ(order.size(), 5u);
    first += order[0] == 0 ? 1 : 0;
    again += static_cast<int>(std::count(order.begin(), order.end(), 0)) - 1;
  }
  EXPECT_GT(first, 190);
  EXPECT_GT(again, 200);
  EXPECT_LT(again, 200 * 4);
}

TEST(SdcaSamplingTest, FollowsTheProbabilities) {
  const std::vector<double> importance = {1, 0, 3, 2, 4};
  std::vector<int> counts(importance.size());
  constexpr int kRuns = 20000;
  for (uint64_t seed = 0; seed < kRuns; ++seed) ++counts[static_cast<size_t>(Order(importance, seed)[0])];
  for (size_t i = 0; i < counts.size(); ++i) EXPECT_NEAR(counts[i], kRuns * importance[i] / 10, 400) << i;
}

TEST(SdcaSamplingTest, ExamplesWithoutImportanceAreDrawnToo) {
  int first = 0, others = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto order = Order({0, 0, 1e300, 0, 0, 0, 0, 0}, seed);
    first += order[0] == 2 ? 1 : 0;
    others += 8 - static_cast<int>(std::count(order.begin(), order.end(), 2));
  }
  EXPECT_GT(first, 90);
  EXPECT_GT(others, 300);
}

TEST(SdcaSamplingTest, TakesAnyNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const auto& importance :
       std::vector<std::vector<double>>{{0, 0, 0}, {0, -1, nan, inf}, {nan}, {inf, 1e-320}, {}}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const auto order = Order(importance, seed);
      ASSERT_EQ(order.size(), importance.size());
      for (const int64_t i : order) EXPECT_LT(static_cast<size_t>(i), importance.size());
    }
  }
}

TEST(SdcaSamplingTest, AllNumbersAreInRange) {
  std::vector<double> importance(1001);
  std::iota(importance.begin(), importance.end(), 0.0);
  const auto order = Order(importance);
  ASSERT_EQ(order.size(), importance.size());
  EXPECT_GE(*std::min_element(order.begin(), order.end()), 0);
  EXPECT_LT(*std::max_element(order.begin(), order.end()), 1001);
}

}  // namespace
}  // namespace millstream::sdca
