// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/liveness.h"

#include <gtest/gtest.h>

namespace millstream {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
using Verdict = Liveness::Verdict;

// Checks once a second from second 1 on; returns the second of the first verdict other than fine, and the verdict.
struct Watch {
  Liveness liveness{10 * kSecond, 30 * kSecond, 0};
  int64_t now = 0, heard = 0;
  uint64_t progress = 0;

  Verdict Next(int64_t seconds = 1) {
    now += seconds * kSecond;
    return liveness.Check(now, heard, progress);
  }
  int64_t SecondsUntil(Verdict verdict) {
    for (int i = 0; i < 1000; ++i) {
      if (Next() == verdict) return now / kSecond;
    }
    return -1;
  }
};

TEST(LivenessTest, SilenceIsAskedAboutAndThenIsDeath) {
  Watch watch;
  EXPECT_EQ(watch.SecondsUntil(Verdict::kPing), 10);
  EXPECT_EQ(watch.SecondsUntil(Verdict::kDead), 40);
}

TEST(LivenessTest, AnAnswerSettlesTheQuestion) {
  Watch watch;
  ASSERT_EQ(watch.SecondsUntil(Verdict::kPing), 10);
  watch.heard = watch.now + 1;
  EXPECT_EQ(watch.Next(), Verdict::kFine);
  EXPECT_EQ(watch.SecondsUntil(Verdict::kPing), 21);
}

TEST(LivenessTest, APeerThatReadsIsAlive) {
  Watch watch;
  ASSERT_EQ(watch.SecondsUntil(Verdict::kPing), 10);
  for (int i = 0; i < 100; ++i) {
    ++watch.progress;
    ASSERT_EQ(watch.Next(), Verdict::kFine);
  }
  EXPECT_EQ(watch.SecondsUntil(Verdict::kDead), 110 + 30);
}

TEST(LivenessTest, OwnStandstillProvesNothing) {
  Watch watch;
  ASSERT_EQ(watch.SecondsUntil(Verdict::kPing), 10);
  EXPECT_EQ(watch.Next(1000), Verdict::kFine);
  EXPECT_EQ(watch.SecondsUntil(Verdict::kDead), 1010 + 30);
}

}  // namespace
}  // namespace millstream
