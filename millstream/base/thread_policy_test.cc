// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/thread_policy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace millstream {
namespace {

constexpr int64_t kMilli = 1'000'000;

TEST(UsualTimeTest, IsAnAverage) {
  UsualTime usual;
  EXPECT_FALSE(usual.IsBelow(INT64_MAX));
  usual.Took(8000);
  EXPECT_TRUE(usual.IsBelow(8001));
  EXPECT_FALSE(usual.IsBelow(8000));
  for (int i = 0; i < 100; ++i) usual.Took(i % 4 == 0 ? 400'000 : 4'000);  // one long one in four
  EXPECT_FALSE(usual.IsBelow(20'000));
  for (int i = 0; i < 100; ++i) usual.Took(4'000);
  EXPECT_TRUE(usual.IsBelow(20'000));
}

TEST(UsualTimeTest, WaitingCounts) {
  UsualTime usual;
  RunWatch watch(usual);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  watch.Stop(&usual);
  EXPECT_FALSE(usual.IsBelow(4 * kMilli));
}

TEST(UsualTimeTest, WhatOthersDoOnTheCoreDoesNotCount) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  if (sched_setaffinity(0, sizeof(one), &one) != 0) GTEST_SKIP() << "threads cannot be bound to a core here";
  std::atomic<bool> stop{false};
  std::thread other([&] {  // on the same core
    while (!stop.load()) {
    }
  });
  UsualTime usual;
  RunWatch watch(usual);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50)) sched_yield();
  watch.Stop(&usual);
  stop.store(true);
  other.join();
  sched_setaffinity(0, sizeof(before), &before);
  EXPECT_TRUE(usual.IsBelow(45 * kMilli));
}

TEST(LookForTest, EndsWhenItIsDone) {
  CoreContention contention(kMilli);
  for (CoreContention* const none_or_one : {static_cast<CoreContention*>(nullptr), &contention}) {
    int looks = 0;
    EXPECT_TRUE(LookFor(LookWindow(INT64_MAX / 4, nullptr), 4, [&] { return ++looks == 1000; }));
    EXPECT_EQ(looks, 1000);
    looks = 0;
    EXPECT_TRUE(LookFor(LookWindow(1000 * kMilli, none_or_one), 64, [&] { return ++looks == 3; }));
    EXPECT_EQ(looks, 3);
  }
}

TEST(LookForTest, EndsWithItsWindow) {
  const int64_t begin = NowNanos();
  EXPECT_FALSE(LookFor(LookWindow(kMilli, nullptr), 4, [] { return false; }));
  EXPECT_GE(NowNanos() - begin, kMilli);
}

TEST(LookForTest, LooksOnceMoreAtTheEnd) {
  int looks = 0;
  EXPECT_TRUE(LookFor(LookWindow(0, nullptr), 4, [&] { return ++looks == 5; }));
}

TEST(LookForTest, DoesNotYieldUnderContention) {
  CoreContention contention(1000 * kMilli);
  contention.Yielded(NowNanos(), kMilli);  // others ran
  int looks = 0;
  const int64_t begin = NowNanos();
  EXPECT_FALSE(LookFor(LookWindow(60'000 * kMilli, &contention), 4, [&] { return ++looks < 0; }));
  EXPECT_EQ(looks, 5);
  EXPECT_LT(NowNanos() - begin, 50'000 * kMilli);
}

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
  policy.contention().Yielded(2000, 500);
  EXPECT_TRUE(policy.ShouldSpin(2000));
  policy.contention().Yielded(2000, 100'000);
  EXPECT_FALSE(policy.ShouldSpin(2000));
  policy.Worked(2'000'000);
  EXPECT_TRUE(policy.ShouldSpin(2'000'000));
}

TEST(SpinPolicyTest, ZeroMeansNever) {
  SpinPolicy policy(0);
  policy.Worked(5);
  EXPECT_FALSE(policy.ShouldSpin(5));
}

TEST(CoreContentionTest, LastsAsLongAsItsPause) {
  CoreContention contention(10 * kMilli);
  EXPECT_TRUE(contention.IsOver(0));
  contention.Yielded(kMilli, 100'000);
  EXPECT_FALSE(contention.IsOver(10 * kMilli));
  EXPECT_TRUE(contention.IsOver(11 * kMilli));
}

TEST(WaitPolicyTest, LooksWhereWaitsAreShortAndSometimesOtherwise) {
  WaitPolicy waits;
  const auto looks = [&] {
    int count = 0;
    for (int i = 0; i < 80; ++i) count += waits.ShouldLook();
    return count;
  };
  EXPECT_EQ(looks(), 10);  // nothing is known yet
  waits.Waited(5'000);
  EXPECT_EQ(looks(), 80);
  waits.Waited(3600 * 1000 * kMilli);  // one long wait hides no short ones for long
  for (int i = 0; i < 20; ++i) waits.Waited(5'000);
  EXPECT_EQ(looks(), 80);
  for (int i = 0; i < 100; ++i) waits.Waited(5 * kMilli);
  EXPECT_EQ(looks(), 10);
}

TEST(ThreadLoanTest, NestsAndEnds) {
  EXPECT_EQ(ThreadLoan::limit_ns(), 0);
  {
    const ThreadLoan outer(kWakeUpNanos);
    {
      const ThreadLoan inner(5);
      EXPECT_EQ(ThreadLoan::limit_ns(), 5);
      std::thread([] { EXPECT_EQ(ThreadLoan::limit_ns(), 0); }).join();
    }
    EXPECT_EQ(ThreadLoan::limit_ns(), kWakeUpNanos);
  }
  EXPECT_EQ(ThreadLoan::limit_ns(), 0);
}

TEST(ThreadLoanTest, IsLongerWhereTasksShareCores) {
  EXPECT_EQ(ThreadLoan::LimitFor(1), kWakeUpNanos);
  EXPECT_GT(ThreadLoan::LimitFor(100'000), kWakeUpNanos);
}

}  // namespace
}  // namespace millstream
