// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/cancellation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "millstream/base/notification.h"

namespace millstream {
namespace {

TEST(CancellationTest, RunsEachCallbackOnce) {
  Cancellation cancellation;
  int calls = 0;
  Cancellation::Token token;
  ASSERT_TRUE(cancellation.Register([&] { ++calls; }, &token));
  ASSERT_TRUE(cancellation.Register([&] { ++calls; }, &token));
  EXPECT_FALSE(cancellation.IsCancelled());
  EXPECT_TRUE(cancellation.status().ok());
  cancellation.StartCancel();
  cancellation.StartCancel();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(cancellation.IsCancelled());
  EXPECT_TRUE(absl::IsCancelled(cancellation.status()));
}

TEST(CancellationTest, KeepsTheFirstReason) {
  Cancellation cancellation;
  cancellation.StartCancel(absl::DeadlineExceededError("too late"));
  cancellation.StartCancel(absl::AbortedError("lost"));
  EXPECT_EQ(cancellation.status(), absl::DeadlineExceededError("too late"));
}

TEST(CancellationTest, CallbackSeesTheReason) {
  Cancellation cancellation;
  Status seen;
  Cancellation::Token token;
  ASSERT_TRUE(cancellation.Register([&] { seen = cancellation.status(); }, &token));
  cancellation.StartCancel(absl::AbortedError("lost"));
  EXPECT_EQ(seen, absl::AbortedError("lost"));
}

TEST(CancellationTest, DeregisteredCallbackDoesNotRun) {
  Cancellation cancellation;
  Cancellation::Token first, second;
  bool ran = false;
  ASSERT_TRUE(cancellation.Register([&] { ran = true; }, &first));
  ASSERT_TRUE(cancellation.Register([&] { ran = true; }, &second));
  EXPECT_TRUE(cancellation.Deregister(first));
  EXPECT_TRUE(cancellation.TryDeregister(second));
  EXPECT_FALSE(cancellation.TryDeregister(second));
  cancellation.StartCancel();
  EXPECT_FALSE(ran);
}

TEST(CancellationTest, RegisteringAfterCancellationFails) {
  Cancellation cancellation;
  cancellation.StartCancel();
  Cancellation::Token token;
  EXPECT_FALSE(cancellation.Register([] { FAIL(); }, &token));
}

// What a callback uses may go once Deregister() has returned, although the callback was already running.
TEST(CancellationTest, DeregisterWaitsForARunningCallback) {
  Cancellation cancellation;
  Notification entered, leave;
  std::atomic<bool> finished{false};
  Cancellation::Token token;
  ASSERT_TRUE(cancellation.Register(
      [&] {
        entered.Notify();
        leave.Wait();
        finished = true;
      },
      &token));
  std::thread canceller([&] { cancellation.StartCancel(); });
  entered.Wait();
  EXPECT_FALSE(cancellation.TryDeregister(token));  // does not wait
  std::thread opener([&] { leave.Notify(); });
  EXPECT_FALSE(cancellation.Deregister(token));
  EXPECT_TRUE(finished);
  opener.join();
  canceller.join();
}

TEST(CancellationTest, EachCallbackRunsOrIsTakenBackNeverBoth) {
  for (int round = 0; round < 50; ++round) {
    Cancellation cancellation;
    constexpr int kThreads = 4;
    std::atomic<int> ran{0}, taken_back{0}, refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          Cancellation::Token token;
          if (!cancellation.Register([&] { ran.fetch_add(1); }, &token))
            refused.fetch_add(1);
          else if (cancellation.Deregister(token))
            taken_back.fetch_add(1);
        }
      });
    }
    threads.emplace_back([&] { cancellation.StartCancel(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran + taken_back + refused, kThreads * 50);
  }
}

}  // namespace
}  // namespace millstream
