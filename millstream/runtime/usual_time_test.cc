// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/usual_time.h"

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

}  // namespace
}  // namespace millstream
