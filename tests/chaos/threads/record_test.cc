// SPDX-License-Identifier: Apache-2.0
// That the invariants of chaos runs notice what they are for.
#include "tests/chaos/threads/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Event = Seen::Event;

constexpr int64_t kSecond = 1'000'000'000;

// One worker with counters on two ps tasks. Each event comes ten seconds after the one before.
class RecordTest : public ::testing::Test {
 protected:
  void Note(Event event, int64_t global_step, std::vector<int64_t> mine) {
    record_.Note(0, {event, now_ += 10 * kSecond, global_step, std::move(mine)});
  }
  void SetUp() override {
    record_.Note(0, Seen());
    Note(Event::kCreated, 7, {3, 3});
    Note(Event::kStep, 8, {4, 4});
  }

  Record record_{1};
  int64_t now_ = 0;
};

TEST_F(RecordTest, AGoodRunIsGood) {
  Note(Event::kStep, 9, {5, 5});
  Note(Event::kCreated, 9, {5, 6});  // the step in flight was applied on one ps
  Note(Event::kStep, 10, {6, 6});    // and is applied once
  EXPECT_THAT(record_.TakeViolations(), IsEmpty());
  EXPECT_EQ(record_.steps(), 3);
}

TEST_F(RecordTest, AStepThatIsAppliedTwice) {
  Note(Event::kCreated, 9, {5, 5});
  Note(Event::kStep, 10, {5, 6});
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("added 2 on ps:1")));
  EXPECT_THAT(record_.TakeViolations(), IsEmpty());
}

TEST_F(RecordTest, AStepThatIsLost) {
  Note(Event::kStep, 9, {5, 4});
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("added 0 on ps:1")));
}

TEST_F(RecordTest, AStepInFlightThatIsAppliedTwice) {
  Note(Event::kCreated, 9, {6, 5});
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("in flight")));
}

TEST_F(RecordTest, ValuesFallOnlyWithAPs) {
  Note(Event::kCreated, 0, {0, 0});
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("fell")));
  record_.VariablesLost(now_ + kSecond);
  Note(Event::kCreated, 0, {0, 0});
  Note(Event::kStep, 1, {1, 0});  // the step was applied on one ps in a session that ended with the other one
  Note(Event::kStep, 2, {2, 1});
  EXPECT_THAT(record_.TakeViolations(), IsEmpty());
}

TEST_F(RecordTest, ACheckpointIsALowerBound) {
  record_.VariablesLost(now_ + kSecond, /*restorable_step=*/6);
  Note(Event::kCreated, 6, {2, 2});
  EXPECT_THAT(record_.TakeViolations(), IsEmpty());
  record_.VariablesLost(now_ + kSecond, /*restorable_step=*/6);
  Note(Event::kCreated, 5, {2, 2});
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("checkpoint of step 6")));
}

// Of one worker, with one value.
class RoundsTest : public ::testing::Test {
 protected:
  void Step(int64_t global_step, int64_t value) {
    record_.Note(0, {Event::kStep, now_ += 10 * kSecond, global_step, {value}});
  }
  Record record_{1, Record::Rule::kRounds};
  int64_t now_ = 0;
};

TEST_F(RoundsTest, ARoundUnderWayIsGood) {
  Step(5, 4);  // a ps was once lost without a checkpoint, and a round is under way
  for (int64_t step = 6; step < 50; ++step) Step(step, step - 2 + step % 2);
  record_.Note(0, {Event::kCreated, now_, 49, {47}});
  EXPECT_THAT(record_.TakeViolations(), IsEmpty());
  record_.Note(0, {Event::kCreated, now_, 48, {47}});
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("fell")));
}

TEST_F(RoundsTest, ARoundThatIsAppliedTwice) {
  for (int64_t step = 1; step < 10; ++step) Step(step, step);
  for (int64_t step = 10; step < 20; ++step) Step(step, step + 1);
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("not applied once to value 0")));
  Step(20, 24);
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("not applied once to value 0")));
}

TEST_F(RoundsTest, ARoundThatIsLost) {
  Step(1, 1);
  Step(2, 1);
  EXPECT_THAT(record_.TakeViolations(), IsEmpty());  // the first look may have been in the middle of a round
  Step(3, 1);
  EXPECT_THAT(record_.TakeViolations(), ElementsAre(HasSubstr("not applied once to value 0")));
}

TEST_F(RecordTest, ReplicasThatDiffer) {
  Record record(2, Record::Rule::kReplicas);
  record.Note(1, {Event::kStep, 10 * kSecond, 5, {5, 5}});
  record.Note(1, {Event::kCreated, 20 * kSecond, 4, {4, 5}});  // the root has not made the last step, or half of it
  record.Note(1, {Event::kStep, 30 * kSecond, 5, {5, 5}});
  EXPECT_THAT(record.TakeViolations(), IsEmpty());
  record.Note(1, {Event::kStep, 40 * kSecond, 6, {7, 6}});
  EXPECT_THAT(record.TakeViolations(), ElementsAre(HasSubstr("a step was not applied once to value 0")));
  record.Note(0, {Event::kStep, 10 * kSecond, 5, {5, 5}});
  record.Note(0, {Event::kCreated, 20 * kSecond, 4, {4, 4}});
  EXPECT_THAT(record.TakeViolations(), ElementsAre(HasSubstr("fell")));
}

TEST_F(RecordTest, WhoIsBehind) {
  const auto now = std::chrono::steady_clock::now();
  EXPECT_THAT(record_.AwaitSteps(now_ - kSecond, 1, now), IsEmpty());
  EXPECT_THAT(record_.AwaitSteps(now_, 1, now), ElementsAre(0));
}

}  // namespace
}  // namespace millstream::chaos
