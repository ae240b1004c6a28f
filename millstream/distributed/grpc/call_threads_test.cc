// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/grpc/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "millstream/base/notification.h"

namespace millstream {
namespace {

TEST(CallThreadsTest, RunsAllWorkBeforeItStops) {
  std::atomic<int> done{0};
  {
    CallThreads threads(4, 2);
    int owners[3];
    for (int i = 0; i < 300; ++i) threads.Run(&owners[i % 3], [&] { ++done; });
  }
  EXPECT_EQ(done, 300);
}

TEST(CallThreadsTest, OneOwnerTakesItsShareOnly) {
  CallThreads threads(4, 2);
  int greedy, other;
  std::atomic<int> running{0}, most{0};
  Notification go, other_ran;
  for (int i = 0; i < 6; ++i) {
    threads.Run(&greedy, [&] {
      const int now = ++running;
      if (now > most) most = now;
      go.Wait();
      --running;
    });
  }
  threads.Run(&other, [&] { other_ran.Notify(); });
  other_ran.Wait();  // behind work of the other owner, which waits
  go.Notify();
  threads.Stop();
  EXPECT_LE(most, 2);
}

TEST(CallThreadsTest, WorkBeyondTheThreadsWaitsItsTurn) {
  CallThreads threads(2, 2);
  int owner;
  Notification go;
  std::atomic<int> done{0};
  for (int i = 0; i < 5; ++i) {
    threads.Run(&owner, [&] {
      go.Wait();
      ++done;
    });
  }
  EXPECT_EQ(done, 0);
  go.Notify();
  threads.Stop();
  EXPECT_EQ(done, 5);
}

}  // namespace
}  // namespace millstream
