// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/step_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StepRoundsTest : public ::testing::Test {
 protected:
  // What is announced when the reduction comes, as instances.
  std::vector<std::string> Add(StepRounds& rounds, const std::string& instance, int64_t together = 3,
                               int64_t gate = 0) {
    auto entry = std::make_shared<collective::OpEntry>();
    entry->request.instance = instance;
    entry->request.together = together;
    entry->request.gate = gate;
    auto round = std::make_shared<collective::OpRound>();
    round->instance = instance;
    round->entries["member"] = std::move(entry);
    return Instances(rounds.Add(std::move(round), now_));
  }
  std::vector<std::string> Late(StepRounds& rounds) { return Instances(rounds.TakeLate(now_)); }
  // A step whose reductions come 100 us after each other.
  void RunStep(StepRounds& rounds) {
    for (const char* instance : {"a", "b", "c"}) {
      Add(rounds, instance);
      now_ += microseconds(100);
    }
  }

  StepRounds::Clock::time_point now_{std::chrono::hours(1)};

 private:
  static std::vector<std::string> Instances(const StepRounds::Rounds& rounds) {
    std::vector<std::string> instances;
    for (const auto& round : rounds) instances.push_back(round->instance);
    return instances;
  }
};

TEST_F(StepRoundsTest, WhereThereAreCoresNothingIsHeldBack) {
  StepRounds rounds(/*holds_back=*/false);
  for (int step = 0; step < 3; ++step) {
    for (const char* instance : {"a", "b", "c"}) EXPECT_THAT(Add(rounds, instance), ElementsAre(instance));
  }
}

TEST_F(StepRoundsTest, HoldsBackOnceItKnowsHowLongAStepTakes) {
  StepRounds rounds(true);
  for (const char* instance : {"a", "b", "c"}) EXPECT_THAT(Add(rounds, instance), ElementsAre(instance));
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(Add(rounds, "b"), IsEmpty());
    EXPECT_TRUE(rounds.is_holding());
    EXPECT_THAT(Add(rounds, "a"), IsEmpty());
    EXPECT_THAT(Late(rounds), IsEmpty());
    EXPECT_THAT(Add(rounds, "c"), ElementsAre("b", "a", "c"));
    EXPECT_FALSE(rounds.is_holding());
  }
}

TEST_F(StepRoundsTest, OthersAreNotHeldBackMeanwhile) {
  StepRounds rounds(true);
  RunStep(rounds);
  EXPECT_THAT(Add(rounds, "a"), IsEmpty());
  EXPECT_THAT(Add(rounds, "alone", 0), ElementsAre("alone"));
  EXPECT_THAT(Add(rounds, "single", 1), ElementsAre("single"));
  EXPECT_THAT(Add(rounds, "other updates", 2, 1), ElementsAre("other updates"));
  EXPECT_THAT(Add(rounds, "b"), IsEmpty());
  EXPECT_THAT(Add(rounds, "c"), ElementsAre("a", "b", "c"));
}

TEST_F(StepRoundsTest, AStepThatDoesNotRunAllOfThemIsLateOnce) {
  StepRounds rounds(true);
  RunStep(rounds);
  Add(rounds, "a");
  now_ += microseconds(500);
  EXPECT_THAT(Late(rounds), IsEmpty());
  now_ += milliseconds(2);
  EXPECT_THAT(Late(rounds), ElementsAre("a"));
  EXPECT_FALSE(rounds.is_holding());
  EXPECT_THAT(Add(rounds, "b"), ElementsAre("b")) << "the step is late already";
  for (int step = 0; step < 20; ++step) EXPECT_THAT(Add(rounds, "a"), ElementsAre("a"));
  int held = 0;
  for (int step = 0; step < 10'000; ++step) {
    held += Add(rounds, "a").empty() ? 1 : 0;
    now_ += milliseconds(5);
    Late(rounds);
  }
  EXPECT_LE(held, 12) << "it tries again less and less often";
}

TEST_F(StepRoundsTest, TheNextStepReleasesWhatTheLastOneHasLeft) {
  StepRounds rounds(true);
  RunStep(rounds);
  EXPECT_THAT(Add(rounds, "a"), IsEmpty());
  EXPECT_THAT(Add(rounds, "b"), IsEmpty());
  EXPECT_THAT(Add(rounds, "a"), ElementsAre("a", "b", "a"));
}

TEST_F(StepRoundsTest, HoldsBackAgainAfterFullSteps) {
  StepRounds rounds(true);
  RunStep(rounds);
  Add(rounds, "a");
  now_ += milliseconds(10);
  Late(rounds);
  bool held = false;
  for (int step = 0; step < 100 && !held; ++step) {
    RunStep(rounds);
    held = Add(rounds, "a").empty();
    Add(rounds, "b");
    Add(rounds, "c");
  }
  EXPECT_TRUE(held);
}

TEST_F(StepRoundsTest, SessionsThatComeAndGoLeaveNothing) {
  StepRounds rounds(true);
  for (int64_t gate = 0; gate < 10'000; ++gate) Add(rounds, "a", 2, gate);
  EXPECT_FALSE(rounds.is_holding());
}

}  // namespace
}  // namespace millstream
