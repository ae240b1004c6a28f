// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/spin_policy.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

constexpr int64_t kMax = 50'000;

TEST(SpinPolicyTest, SpinsForAWhileAfterWork) {
  SpinPolicy policy(kMax);
  policy.Worked(1'000'000);
  EXPECT_TRUE(policy.ShouldSpin(1'000'000 + kMax - 1));
  EXPECT_FALSE(policy.ShouldSpin(1'000'000 + kMax));
}

TEST(SpinPolicyTest, GivesUpWhereWorkComesRarelyAndStartsAgainWhereItComesSoon) {
  SpinPolicy policy(kMax);
  for (int i = 0; i < 10; ++i) policy.Woke(i * 1'000'000, 900'000, true);
  EXPECT_EQ(policy.budget_ns(), 0);
  policy.Woke(20'000'000, kMax - 1, true);
  EXPECT_EQ(policy.budget_ns(), kMax);
}

TEST(SpinPolicyTest, DoesNotSpinWhereOthersWantTheCore) {
  SpinPolicy policy(kMax);
  policy.Worked(1000);
  policy.Yielded(2000, 500);
  EXPECT_TRUE(policy.ShouldSpin(2000));
  policy.Yielded(2000, 100'000);
  EXPECT_FALSE(policy.ShouldSpin(2000));
  policy.Worked(2'000'000);
  EXPECT_TRUE(policy.ShouldSpin(2'000'000));
}

TEST(SpinPolicyTest, ZeroMeansNever) {
  SpinPolicy policy(0);
  policy.Worked(5);
  EXPECT_FALSE(policy.ShouldSpin(5));
}

}  // namespace
}  // namespace millstream
