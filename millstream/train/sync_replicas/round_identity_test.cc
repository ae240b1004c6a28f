// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sync_replicas/round_identity.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

bool Same(const StepIdentity& a, const StepIdentity& b) { return a.client == b.client && a.number == b.number; }

constexpr uint64_t kHolder = 0x1234;

TEST(RoundIdentityTest, EachRoundHasItsOwn) {
  RoundIdentity rounds("sync"), others("other_sync");
  rounds.Begin(kHolder, 7);
  others.Begin(kHolder, 7);
  const StepIdentity first = rounds.Current();
  EXPECT_NE(first.client, 0u);
  EXPECT_NE(first.client, others.Current().client);
  EXPECT_TRUE(Same(first, rounds.Current()));
  rounds.Answered();
  EXPECT_EQ(rounds.Current().client, first.client);
  EXPECT_NE(rounds.Current().number, first.number);
}

TEST(RoundIdentityTest, ARoundThatFailedIsRepeated) {
  for (const uint64_t holder : {kHolder, uint64_t{0}}) {
    RoundIdentity rounds("sync");
    rounds.Begin(holder, 7);
    rounds.Answered();
    const StepIdentity second = rounds.Current();
    for (int session = 0; session < 3; ++session) {
      rounds.Begin(holder, 8);
      EXPECT_TRUE(Same(second, rounds.Current()));
    }
  }
}

TEST(RoundIdentityTest, AChiefThatWasStartedAgainRepeatsTheRoundOfTheOneBefore) {
  RoundIdentity killed("sync"), next("sync");
  killed.Begin(kHolder, 7);
  for (int round = 0; round < 3; ++round) killed.Answered();
  next.Begin(kHolder, 10);
  EXPECT_TRUE(Same(killed.Current(), next.Current()));
}

TEST(RoundIdentityTest, ARoundThatWasDoneOrUndoneIsNot) {
  for (const uint64_t holder : {kHolder, uint64_t{0}}) {
    for (const int64_t found : {9, 3}) {  // its answer was lost, or a checkpoint was restored
      RoundIdentity rounds("sync");
      rounds.Begin(holder, 8);
      const StepIdentity failed = rounds.Current();
      rounds.Begin(holder, found);
      EXPECT_FALSE(Same(failed, rounds.Current()));
    }
  }
}

// The task with the global step was lost, and counts from an earlier step, or from the same by chance.
TEST(RoundIdentityTest, ARoundAtAnotherProcessIsNot) {
  RoundIdentity rounds("sync");
  rounds.Begin(kHolder, 8);
  const StepIdentity failed = rounds.Current();
  rounds.Begin(kHolder + 1, 8);
  EXPECT_FALSE(Same(failed, rounds.Current()));
}

}  // namespace
}  // namespace millstream
