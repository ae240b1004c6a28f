// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/timer_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "millstream/base/notification.h"

namespace millstream {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Clock = TimerQueue::Clock;

TEST(TimerQueueTest, CallsInTheOrderOfTheirTimes) {
  std::vector<int> order;
  Notification done;
  TimerQueue timers;
  const auto now = Clock::now();
  timers.Add(now + milliseconds(30), [&] {
    order.push_back(3);
    done.Notify();
  });
  timers.Add(now + milliseconds(20), [&] { order.push_back(2); });
  timers.Add(now + milliseconds(10), [&] { order.push_back(1); });
  done.Wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(TimerQueueTest, NothingIsCalledAfterStop) {
  std::atomic<bool> called{false};
  TimerQueue timers;
  timers.Add(Clock::now() + hours(1), [&] { called = true; });
  timers.Stop();
  timers.Add(Clock::now(), [&] { called = true; });
  timers.Stop();
  EXPECT_FALSE(called);
}

TEST(TimerQueueTest, NeverCallsBeforeItsTime) {
  TimerQueue timers;
  const auto when = Clock::now() + milliseconds(20);
  Clock::time_point called;
  Notification done;
  timers.Add(when, [&] {
    called = Clock::now();
    done.Notify();
  });
  done.Wait();
  EXPECT_GE(called, when);
}

TEST(TimerQueueTest, AnEarlierCallOvertakesOneThatIsAwaited) {
  TimerQueue timers;
  timers.Add(Clock::now() + hours(1), [] { FAIL(); });
  Notification done;
  timers.Add(Clock::now(), [&] { done.Notify(); });
  done.Wait();
}

TEST(TimerQueueTest, CancelledCallIsNotMade) {
  TimerQueue timers;
  Notification later;
  const auto now = Clock::now();
  const TimerQueue::Id id = timers.Add(now + milliseconds(20), [] { FAIL(); });
  timers.Add(now + milliseconds(30), [&] { later.Notify(); });
  EXPECT_TRUE(timers.Cancel(id));
  EXPECT_FALSE(timers.Cancel(id));
  later.Wait();
}

TEST(TimerQueueTest, CancelWaitsForARunningCall) {
  TimerQueue timers;
  Notification entered, leave;
  std::atomic<bool> finished{false};
  const TimerQueue::Id id = timers.Add(Clock::now(), [&] {
    entered.Notify();
    leave.Wait();
    finished = true;
  });
  entered.Wait();
  EXPECT_FALSE(timers.Cancel(id, /*wait=*/false));
  EXPECT_FALSE(finished);
  std::thread opener([&] { leave.Notify(); });
  EXPECT_FALSE(timers.Cancel(id));
  EXPECT_TRUE(finished);
  opener.join();
}

TEST(TimerQueueTest, CallsMayAddAndCancelCalls) {
  TimerQueue timers;
  Notification done;
  const TimerQueue::Id never = timers.Add(Clock::now() + hours(1), [] { FAIL(); });
  timers.Add(Clock::now(), [&] {
    EXPECT_TRUE(timers.Cancel(never, /*wait=*/false));
    timers.Add(Clock::now(), [&] { done.Notify(); });
  });
  done.Wait();
}

TEST(TimerQueueTest, DestructorDropsCallsThatHaveNotBegun) {
  auto held = std::make_shared<int>(7);
  {
    TimerQueue timers;
    timers.Add(Clock::now() + hours(1), [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace millstream
