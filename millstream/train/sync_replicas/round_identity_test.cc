// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sync_replicas/round_identity.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

bool Same(const StepIdentity& a, const StepIdentity& b) { return a.client == b.client && a.number == b.number; }

TEST(RoundIdentityTest, EachRoundHasItsOwn) {
  RoundIdentity rounds, others;
  rounds.Begin(7);
  const StepIdentity first = rounds.Current();
  EXPECT_NE(first.client, 0u);
  EXPECT_NE(first.client, others.Current().client);
  EXPECT_TRUE(Same(first, rounds.Current()));
  rounds.Answered();
  EXPECT_EQ(rounds.Current().client, first.client);
  EXPECT_NE(rounds.Current().number, first.number);
}

TEST(RoundIdentityTest, ARoundThatFailedIsRepeated) {
  RoundIdentity rounds;
  rounds.Begin(7);
  rounds.Answered();
  const StepIdentity second = rounds.Current();
  for (int session = 0; session < 3; ++session) {
    rounds.Begin(8);
    EXPECT_TRUE(Same(second, rounds.Current()));
  }
}

TEST(RoundIdentityTest, ARoundThatWasDoneOrUndoneIsNot) {
  for (const int64_t found : {9, 3}) {  // its answer was lost, or a checkpoint was restored
    RoundIdentity rounds;
    rounds.Begin(8);
    const StepIdentity failed = rounds.Current();
    rounds.Begin(found);
    EXPECT_FALSE(Same(failed, rounds.Current()));
  }
}

}  // namespace
}  // namespace millstream
