// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/input/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace millstream {
namespace {

using ::testing::HasSubstr;

TEST(CoordinatorTest, JoinWaitsForThreadsThatEndByThemselves) {
  Coordinator coordinator;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 3; ++i) {
    coordinator.StartThread("t", [&] {
      ++ended;
      return OkStatus();
    });
  }
  EXPECT_EQ(coordinator.Join(), OkStatus());
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(coordinator.joined());
}

TEST(CoordinatorTest, TheFirstErrorStopsAllAndIsReturned) {
  Coordinator coordinator;
  coordinator.StartThread("waits", [&] {
    coordinator.WaitForStop();
    return errors::Internal("a later one");
  });
  coordinator.StartThread("fails", [] { return errors::DataLoss("the first one"); });
  EXPECT_EQ(coordinator.Join(), absl::DataLossError("the first one"));
  EXPECT_EQ(coordinator.RequestedError(), absl::DataLossError("the first one"));
  coordinator.ClearStop();
  EXPECT_FALSE(coordinator.ShouldStop());
  EXPECT_EQ(coordinator.Join(), OkStatus());
}

TEST(CoordinatorTest, TheEndOfInputIsNoFailure) {
  Coordinator coordinator;
  coordinator.StartThread("reads", [] { return errors::OutOfRange("no more"); });
  EXPECT_EQ(coordinator.Join(), OkStatus());
  Coordinator strict(std::vector<absl::StatusCode>{});
  strict.StartThread("reads", [] { return errors::OutOfRange("no more"); });
  EXPECT_EQ(strict.Join(), absl::OutOfRangeError("no more"));
}

TEST(CoordinatorTest, StragglersAreNamed) {
  std::atomic<bool> go_on = true;
  Coordinator coordinator;
  for (const char* name : {"slow", "slower"}) {
    coordinator.StartThread(name, [&] {
      while (go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return OkStatus();
    });
  }
  coordinator.RequestStop();
  const Status status = coordinator.Join({.stop_grace_period_secs = 0.02});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("slow slower"));
  EXPECT_EQ(coordinator.Join({.stop_grace_period_secs = 0, .ignore_live_threads = true}), OkStatus());
  go_on = false;
  EXPECT_EQ(coordinator.Join(), OkStatus());
}

TEST(CoordinatorTest, QueueRunnersAreNotMissed) {
  std::atomic<bool> go_on = true;
  Coordinator coordinator;
  coordinator.StartThread(
      "hangs in a step",
      [&] {
        while (go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return OkStatus();
      },
      Coordinator::ThreadKind::kQueueRunner);
  coordinator.RequestStop();
  EXPECT_EQ(coordinator.Join({.stop_grace_period_secs = 0.01}), OkStatus());
  go_on = false;
}

TEST(CoordinatorTest, LoopsRunUntilTheStop) {
  Coordinator coordinator;
  std::atomic<int> calls = 0;
  coordinator.StartLoop("loop", 0.001, [&]() -> Status {
    if (++calls == 5) coordinator.RequestStop();
    return OkStatus();
  });
  coordinator.StartLoop("rare", 1e9, [&] { return OkStatus(); });
  EXPECT_EQ(coordinator.Join(), OkStatus());
  EXPECT_EQ(calls, 5);
  EXPECT_TRUE(coordinator.WaitForStop(100));
}

}  // namespace
}  // namespace millstream
