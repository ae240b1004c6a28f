// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/applied_updates.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

using Turn = StepUpdates::Turn;

std::shared_ptr<TrackedUpdates> Updates(AppliedUpdates& applied, const std::vector<std::string>& nodes) {
  auto tracked = std::make_shared<TrackedUpdates>();
  tracked->clock = applied.clock();
  for (const std::string& node : nodes) {
    tracked->nodes.push_back(node);
    tracked->marks.push_back(applied.MarkOf("variable of " + node));
  }
  return tracked;
}

const ClientSteps::Clock::time_point kNow = ClientSteps::Clock::now();

TEST(AppliedUpdatesTest, AnAttemptWaitsForNobody) {
  AppliedUpdates applied;
  const auto tracked = Updates(applied, {"x", "y"});
  const auto first = *applied.OfClient(1, kNow)->Begin(tracked, {1, 5});
  const auto second = *applied.OfClient(1, kNow)->Begin(Updates(applied, {"x", "y"}), {1, 5});
  EXPECT_EQ(first->Claim(0), Turn::kApply);
  EXPECT_EQ(second->Claim(0), Turn::kApplying);
  EXPECT_EQ(second->Claim(1), Turn::kApply);
  first->Applied(0, true);
  second->Applied(1, false);
  EXPECT_EQ(second->Claim(0), Turn::kPass);
  EXPECT_EQ(first->Claim(1), Turn::kApply);
}

TEST(AppliedUpdatesTest, AnotherPartOfTheSameStepWaitsUntilTheFirstHasEnded) {
  AppliedUpdates applied;
  const auto client = applied.OfClient(1, kNow);
  auto first = *client->Begin(Updates(applied, {"x", "y"}), {1, 5});
  ASSERT_EQ(first->Claim(1), Turn::kApply);
  first->Applied(1, true);
  EXPECT_TRUE(absl::IsUnavailable(client->Begin(Updates(applied, {"y"}), {1, 5}).status()));
  first.reset();
  auto second = *client->Begin(Updates(applied, {"y"}), {1, 5});
  EXPECT_EQ(second->Claim(0), Turn::kPass);
  second.reset();
  const auto third = *client->Begin(Updates(applied, {"z", "y", "x"}), {1, 5});
  EXPECT_EQ(third->Claim(0), Turn::kApply);
  EXPECT_EQ(third->Claim(1), Turn::kPass);
  EXPECT_EQ(third->Claim(2), Turn::kApply);
}

TEST(AppliedUpdatesTest, UsualStepsTakeNoMemory) {
  AppliedUpdates applied;
  const auto client = applied.OfClient(1, kNow);
  const auto tracked = Updates(applied, {"x"});
  std::vector<StepUpdates*> used;
  for (uint64_t number = 0; number < 32; ++number) {
    const auto step = *client->Begin(tracked, {1, number});
    EXPECT_EQ(step->Claim(0), Turn::kApply);
    step->Applied(0, true);
    if (number >= 8) {
      EXPECT_EQ(step.get(), used[number - 8]);
    }
    used.push_back(step.get());
  }
}

TEST(AppliedUpdatesTest, ClientsThatHaveGoneAreForgotten) {
  AppliedUpdates applied(/*max_clients=*/10);
  const auto living = applied.OfClient(1, kNow - std::chrono::hours(1));
  for (uint64_t client = 2; client < 100; ++client) applied.OfClient(client, kNow);
  EXPECT_EQ(applied.num_clients(), 10u);
  EXPECT_EQ(applied.OfClient(1, kNow), living);
  applied.OfClient(1000, kNow + std::chrono::minutes(11));
  EXPECT_EQ(applied.num_clients(), 2u);
}

}  // namespace
}  // namespace millstream
