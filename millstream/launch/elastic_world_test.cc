// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/elastic_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace millstream::launch {
namespace {

using ::testing::ElementsAre;

void AnnounceAll(ElasticWorld& world) {
  const auto pending = world.pending();
  if (!pending) return;
  for (int task : pending->tasks) world.Announce(task, pending->version);
}

// A formed world of tasks 0 to count - 1.
ElasticWorld Formed(int count, int min_workers) {
  ElasticWorld world(min_workers);
  for (int task = 0; task < count; ++task) world.Start(task), world.Announce(task, 0);
  EXPECT_TRUE(world.Advance());
  AnnounceAll(world);
  EXPECT_TRUE(world.Advance());
  return world;
}

TEST(ElasticWorldTest, TheFirstWorldWaitsForAllThatWereStarted) {
  ElasticWorld world(1);
  world.Start(0);
  world.Start(1);
  world.Announce(1, 0);
  EXPECT_FALSE(world.Advance());
  world.Announce(0, 0);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.pending()->tasks, ElementsAre(0, 1));
  world.Announce(0, 1);
  EXPECT_FALSE(world.Advance());
  world.Announce(1, 1);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.formed()->tasks, ElementsAre(0, 1));
  EXPECT_FALSE(world.pending().has_value());
  EXPECT_EQ(world.ToJson(), R"({"formed":{"version":1,"tasks":[0,1]},"pending":null})");
}

TEST(ElasticWorldTest, AWorkerThatWasStartedAgainJoinsWhenItHasAnnouncedItself) {
  ElasticWorld world = Formed(3, 1);
  world.Leave(0);
  world.Start(0);  // again
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.pending()->tasks, ElementsAre(1, 2));
  AnnounceAll(world);
  EXPECT_TRUE(world.Advance());
  world.Announce(0, 0);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.pending()->tasks, ElementsAre(0, 1, 2));
}

TEST(ElasticWorldTest, ALossWhileAWorldFormsMakesAnotherVersion) {
  ElasticWorld world = Formed(3, 1);
  world.Leave(0);
  EXPECT_TRUE(world.Advance());
  world.Announce(1, 2);
  world.Leave(2);
  EXPECT_TRUE(world.Advance());
  EXPECT_EQ(world.pending()->version, 3);
  EXPECT_THAT(world.formed()->tasks, ElementsAre(0, 1, 2));  // 1 has announced version 2, not 3
  world.Announce(1, 3);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.formed()->tasks, ElementsAre(1));
}

TEST(ElasticWorldTest, AFailureWithoutALossMakesAnotherWorldOfTheSameMembers) {
  ElasticWorld world = Formed(2, 1);
  EXPECT_FALSE(world.Advance());
  world.Announce(1, 2);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.pending()->tasks, ElementsAre(0, 1));
  EXPECT_EQ(world.pending()->version, 2);
  world.Announce(0, 2);
  EXPECT_TRUE(world.Advance());
  EXPECT_EQ(world.formed()->version, 2);
  EXPECT_FALSE(world.Advance());
}

TEST(ElasticWorldTest, TooFewWaitForMoreUnlessOneHasFinished) {
  ElasticWorld world = Formed(2, 2);
  world.Leave(1);
  EXPECT_TRUE(world.Advance());
  AnnounceAll(world);
  EXPECT_FALSE(world.Advance());
  EXPECT_FALSE(world.has_enough());
  world.Start(2);
  world.Announce(2, 0);
  EXPECT_TRUE(world.Advance());
  AnnounceAll(world);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.formed()->tasks, ElementsAre(0, 2));
  world.Finish(2);
  EXPECT_TRUE(world.has_enough());
  EXPECT_TRUE(world.Advance());
  AnnounceAll(world);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.formed()->tasks, ElementsAre(0));
}

TEST(ElasticWorldTest, KnowsSinceWhenATaskIsAMember) {
  ElasticWorld world = Formed(2, 1);
  EXPECT_EQ(world.MemberSince(0), 1);
  EXPECT_EQ(world.MemberSince(1), 1);
  world.Leave(0);
  world.Start(0);  // again: it knows nothing
  EXPECT_FALSE(world.IsMember(0));
  EXPECT_GT(world.MemberSince(0), world.MemberSince(1));
  world.Announce(0, 0);
  EXPECT_TRUE(world.Advance());
  AnnounceAll(world);
  EXPECT_TRUE(world.Advance());
  EXPECT_THAT(world.formed()->tasks, ElementsAre(0, 1));
  EXPECT_EQ(world.MemberSince(0), world.formed()->version);
  EXPECT_EQ(world.MemberSince(1), 1);
}

// Whatever happens in which order: members of a formed world had all announced it, versions grow, and once nothing
// happens any more the world is that of the tasks that run.
TEST(ElasticWorldTest, RandomEventsKeepTheInvariants) {
  std::mt19937 random(17);
  for (int trial = 0; trial < 1000; ++trial) {
    const int min_workers = 1 + static_cast<int>(random() % 3);
    ElasticWorld world(min_workers);
    std::set<int> running, announced;
    std::map<int, int64_t> acknowledged;
    int64_t last_formed = 0;
    const auto check = [&] {
      if (!world.Advance() || !world.formed() || world.formed()->version == last_formed) return;
      ASSERT_GT(world.formed()->version, last_formed);
      last_formed = world.formed()->version;
      ASSERT_GE(static_cast<int>(world.formed()->tasks.size()), min_workers);
      for (int task : world.formed()->tasks) ASSERT_EQ(acknowledged[task], last_formed);
    };
    for (int event = 0; event < 60; ++event) {
      const int task = static_cast<int>(random() % 5);
      const unsigned what = random() % 4;
      if (what == 0 && running.insert(task).second) world.Start(task), acknowledged[task] = -1;
      if (what == 1 && running.erase(task) == 1) world.Leave(task);
      if (what >= 2 && running.contains(task)) {
        const bool member =
            world.pending() && std::count(world.pending()->tasks.begin(), world.pending()->tasks.end(), task) == 1;
        acknowledged[task] = member ? world.pending()->version : std::max<int64_t>(0, acknowledged[task]);
        world.Announce(task, acknowledged[task]);
      }
      check();
    }
    while (static_cast<int>(running.size()) < min_workers) {
      for (int task = 0; task < 5; ++task) {
        if (running.insert(task).second) world.Start(task);
      }
    }
    for (int turn = 0; turn < 3; ++turn) {
      for (int task : running) {
        acknowledged[task] = world.pending() ? world.pending()->version : 0;
        world.Announce(task, acknowledged[task]);
      }
      check();
    }
    ASSERT_TRUE(world.formed().has_value());
    EXPECT_EQ(std::set<int>(world.formed()->tasks.begin(), world.formed()->tasks.end()), running);
  }
}

}  // namespace
}  // namespace millstream::launch
