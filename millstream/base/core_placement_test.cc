// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/core_placement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/base/thread_pool.h"

namespace millstream {
namespace {

cpu_set_t CoresOfThisThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  return set;
}

void RunOn(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

// On a thread of its own, so that the cores of the other tests stay as they are.
void OnItsOwnThread(const std::function<void()>& body) { std::thread(body).join(); }

TEST(OffCoreTest, LeavesTheCoreAndMayUseItAgainAfterwards) {
  if (NumCores() < 2) GTEST_SKIP() << "one core";
  OnItsOwnThread([] {
    const cpu_set_t before = CoresOfThisThread();
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &before)) continue;
      {
        const OffCore off(core);
        for (int i = 0; i < 100; ++i) EXPECT_NE(CurrentCore(), core);
      }
      const cpu_set_t after = CoresOfThisThread();
      EXPECT_TRUE(CPU_EQUAL(&after, &before));
    }
  });
}

TEST(OffCoreTest, StaysWhereThereIsNoOtherCore) {
  OnItsOwnThread([] {
    const int core = CurrentCore();
    RunOn(core);
    const OffCore off(core);
    EXPECT_EQ(CurrentCore(), core);
  });
}

TEST(OffCoreTest, IgnoresCoresThatDoNotExist) {
  OnItsOwnThread([] {
    const cpu_set_t before = CoresOfThisThread();
    const OffCore none(-1), beyond(CPU_SETSIZE);
    const cpu_set_t now = CoresOfThisThread();
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
  });
}

TEST(OffCoreTest, KeepsAChangeMadeMeanwhile) {
  if (NumCores() < 2) GTEST_SKIP() << "one core";
  OnItsOwnThread([] {
    const int core = CurrentCore();
    {
      const OffCore off(core);
      RunOn(core);
    }
    const cpu_set_t now = CoresOfThisThread();
    EXPECT_EQ(CPU_COUNT(&now), 1);
    EXPECT_TRUE(CPU_ISSET(core, &now));
  });
}

// A worker that shares the caller's core would make a loop no faster.
TEST(ThreadPoolPlacementTest, HelpersOfALoopLeaveTheCoreOfTheCaller) {
  if (NumCores() < 2) GTEST_SKIP() << "one core";
  ThreadPool pool(2);
  OnItsOwnThread([&] {
    const int core = CurrentCore();
    RunOn(core);
    int elsewhere = 0;
    constexpr int kRounds = 50;
    for (int i = 0; i < kRounds; ++i) {
      const std::thread::id caller = std::this_thread::get_id();
      std::atomic<bool> helped{false};
      pool.ParallelFor(2, 1e9, [&](int64_t, int64_t) {
        if (std::this_thread::get_id() == caller) {
          while (!helped.load()) sched_yield();
        } else {
          elsewhere += CurrentCore() != core;
          helped = true;
        }
      });
    }
    EXPECT_GE(elsewhere, kRounds * 9 / 10);  // the system may move a thread back at any time
  });
}

TEST(ThreadPoolPlacementTest, TasksMayUseAllCores) {
  ThreadPool pool(2);
  const cpu_set_t all = CoresOfThisThread();
  for (int i = 0; i < 20; ++i) {
    pool.ParallelFor(4, 1e9, [](int64_t, int64_t) {});
    Notification done;
    pool.Schedule([&] {
      const cpu_set_t mine = CoresOfThisThread();
      EXPECT_TRUE(CPU_EQUAL(&mine, &all));
      done.Notify();
    });
    done.Wait();
  }
}

}  // namespace
}  // namespace millstream
