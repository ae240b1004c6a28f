// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/job_roll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;

Clock::time_point Soon() { return Clock::now() + std::chrono::hours(1); }

TEST(JobRollTest, KnowsWhoHasLeft) {
  JobRoll roll({"a", "b"});
  EXPECT_FALSE(*roll.CheckIn("a", 1));
  EXPECT_THAT(roll.left(), IsEmpty());
  roll.Leave("a", 1);
  EXPECT_THAT(roll.left(), ElementsAre("a"));
  EXPECT_FALSE(*roll.CheckIn("a", 1));  // on its way when it left
  EXPECT_THAT(roll.left(), ElementsAre("a"));
  EXPECT_FALSE(*roll.CheckIn("a", 2));  // started again
  EXPECT_THAT(roll.left(), IsEmpty());
  roll.Leave("a", 1);
  EXPECT_THAT(roll.left(), IsEmpty());
  roll.Leave("b", 7);  // was never heard of, as after a restart of this task
  EXPECT_THAT(roll.left(), ElementsAre("b"));
}

TEST(JobRollTest, WaitsForThoseWhoHaveNotLeft) {
  JobRoll roll({"a", "b", "c"});
  EXPECT_FALSE(*roll.CheckIn("a", 1));
  roll.Leave("a", 1);
  EXPECT_FALSE(*roll.CheckIn("b", 1));  // and is killed
  EXPECT_THAT(roll.Close(), ElementsAre("b", "c"));
  EXPECT_TRUE(*roll.CheckIn("", 0));
  EXPECT_TRUE(*roll.CheckIn("x", 1));
  const auto start = Clock::now();
  roll.AwaitLate(start + std::chrono::milliseconds(20));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(20));
  std::thread late([&roll] {
    EXPECT_TRUE(*roll.CheckIn("b", 2));
    EXPECT_TRUE(*roll.CheckIn("c", 1));
  });
  roll.AwaitLate(Soon());
  late.join();
  EXPECT_THAT(roll.Close(), IsEmpty());
}

TEST(JobRollTest, ATaskOfTheNextJobIsNotTold) {
  JobRoll roll({"a", "b"});
  EXPECT_FALSE(*roll.CheckIn("a", 1));
  roll.Leave("a", 1);
  roll.Close();
  EXPECT_TRUE(*roll.CheckIn("a", 1));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(roll.CheckIn("a", 2).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(roll.CheckIn("b", 1).status().code(), absl::StatusCode::kUnavailable);
  roll.AwaitLate(Soon());  // returns
}

TEST(JobRollTest, StopEndsTheWait) {
  JobRoll roll({"a"});
  roll.Close();
  std::thread stopper([&roll] { roll.Stop(); });
  roll.AwaitLate(Soon());
  stopper.join();
}

}  // namespace
}  // namespace millstream
