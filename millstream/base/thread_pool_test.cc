// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "millstream/base/notification.h"

namespace millstream {
namespace {

// How often each index was covered, and by ranges that begin at multiples of `align`.
std::vector<int> Cover(ThreadPool& pool, int64_t total, double cost, int64_t align = 1) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(total));
  std::atomic<bool> aligned{true};
  pool.ParallelFor(
      total, cost,
      [&](int64_t begin, int64_t end) {
        if (begin % align != 0) aligned = false;
        for (int64_t i = begin; i < end; ++i) counts[static_cast<size_t>(i)].fetch_add(1);
      },
      align);
  EXPECT_TRUE(aligned);
  return {counts.begin(), counts.end()};
}

TEST(ThreadPoolTest, ParallelForCoversEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t total : {1, 2, 7, 64, 1000, 12345}) {
      for (const double cost : {0.1, 1000.0, 1e6}) {
        for (const int64_t align : {1, 64}) {
          EXPECT_EQ(Cover(pool, total, cost, align), std::vector<int>(static_cast<size_t>(total), 1))
              << threads << " threads, " << total << " units of " << cost << " ns, aligned to " << align;
        }
      }
    }
  }
}

TEST(ThreadPoolTest, ParallelForOfNothingCallsNothing) {
  ThreadPool pool(2);
  pool.ParallelFor(0, 1e9, [](int64_t, int64_t) { FAIL(); });
}

TEST(ThreadPoolTest, SmallLoopsStayOnTheCallingThread) {
  ThreadPool pool(4);
  int calls = 0;
  const std::thread::id caller = std::this_thread::get_id();
  pool.ParallelFor(100, 1.0, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPoolTest, LargeLoopsUseSeveralThreads) {
  ThreadPool pool(2);
  Notification both;
  std::atomic<int> inside{0};
  pool.ParallelFor(2, 1e9, [&](int64_t, int64_t) {  // each waits until the other has begun
    if (inside.fetch_add(1) == 1) both.Notify();
    both.Wait();
  });
  EXPECT_EQ(inside, 2);
}

TEST(ThreadPoolTest, ParallelForInsideATaskOfAFullPoolEnds) {
  ThreadPool pool(2);  // one worker
  Notification done;
  std::vector<int> counts;
  pool.Schedule([&] {
    counts = Cover(pool, 1000, 1e6);
    done.Notify();
  });
  done.Wait();
  EXPECT_EQ(counts, std::vector<int>(1000, 1));
}

TEST(ThreadPoolTest, NestedLoopsEnd) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  pool.ParallelFor(8, 1e6, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pool.ParallelFor(16, 1e6, [&](int64_t b, int64_t e) { calls += static_cast<int>(e - b); });
    }
  });
  EXPECT_EQ(calls, 8 * 16);
}

TEST(ThreadPoolTest, DestructorRunsWhatIsQueued) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(2);
    for (int i = 0; i < 5000; ++i) pool.Schedule([&] { ran.fetch_add(1); });  // more than the queue's first size
  }
  EXPECT_EQ(ran, 5000);
}

TEST(ThreadPoolTest, TasksGetTheirArguments) {
  std::atomic<int64_t> sum{0};
  {
    ThreadPool pool(3);
    for (int64_t i = 1; i <= 100; ++i) {
      pool.Schedule(
          {[](void* object, int64_t argument) { *static_cast<std::atomic<int64_t>*>(object) += argument; }, &sum, i});
    }
  }
  EXPECT_EQ(sum, 5050);
}

TEST(ThreadPoolTest, PoolOfOneThreadWithoutWorkerRunsTasksAtOnce) {
  ThreadPool pool(1, /*always_worker=*/false);
  EXPECT_EQ(pool.num_workers(), 0);
  bool ran = false;
  pool.Schedule([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(ThreadPoolTest, ManyThreadsMayScheduleAtOnce) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(3);
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&] {
        for (int i = 0; i < 500; ++i) pool.Schedule([&] { ran.fetch_add(1); });
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
  EXPECT_EQ(ran, 2000);
}

}  // namespace
}  // namespace millstream
