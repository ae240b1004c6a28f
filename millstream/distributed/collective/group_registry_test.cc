// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/group_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream {
namespace {

std::string Task(int i) { return absl::StrCat("/job:worker/replica:0/task:", i); }
std::string Device(int i) { return absl::StrCat(Task(i), "/device:CPU:0"); }

GroupRegistry Registry() {
  std::map<std::string, std::string> addresses = {{"/job:ps/replica:0/task:0", "h:9"}};
  for (int i = 0; i < 4; ++i) addresses[Task(i)] = absl::StrCat("h:", i);
  return GroupRegistry(addresses);
}

std::vector<GroupRegistry::Outgoing> Join(GroupRegistry& registry, int task, int size) {
  return registry.Join(Task(task), {GroupNote::kJoin, 0, "1", {absl::StrCat(size), Device(task)}});
}

TEST(GroupRegistryTest, TellsAllTasksOfACompleteGroup) {
  GroupRegistry registry = Registry();
  EXPECT_TRUE(Join(registry, 2, 2).empty());
  EXPECT_EQ(registry.MissingIn("1"), "1 of worker:0 at h:0, worker:1 at h:1, worker:3 at h:3");
  const auto out = Join(registry, 0, 2);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].task, Task(0));
  EXPECT_EQ(out[1].task, Task(2));
  EXPECT_EQ(out[0].note.kind, GroupNote::kFormed);
  EXPECT_EQ(out[0].note.words, (std::vector<std::string>{"2", Device(0), Task(0), Device(2), Task(2)}));
  EXPECT_EQ(registry.MissingIn("1"), "");
}

TEST(GroupRegistryTest, EachFormationIsANewEpoch) {
  GroupRegistry registry = Registry();
  uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Join(registry, 0, 2).empty());
    const auto out = Join(registry, 1, 2);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_GT(out[0].note.epoch, last);
    last = out[0].note.epoch;
  }
}

TEST(GroupRegistryTest, ALeaderThatWasRestartedGivesOutOtherEpochs) {
  GroupRegistry before = Registry(), after = Registry();
  Join(before, 0, 2), Join(after, 0, 2);
  EXPECT_NE(Join(before, 1, 2)[0].note.epoch, Join(after, 1, 2)[0].note.epoch);
}

TEST(GroupRegistryTest, SizesMustAgree) {
  GroupRegistry registry = Registry();
  EXPECT_TRUE(Join(registry, 0, 2).empty());
  const auto out = Join(registry, 1, 3);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].task, Task(1));
  EXPECT_TRUE(absl::IsInternal(out[0].note.failure()));
  EXPECT_THAT(std::string(out[0].note.failure().message()), ::testing::HasSubstr("but that group has size 2"));
}

TEST(GroupRegistryTest, WhoLeavesOrIsLostMakesPlaceForAnotherSize) {
  for (const bool lost : {false, true}) {
    GroupRegistry registry = Registry();
    EXPECT_TRUE(Join(registry, 0, 3).empty());
    if (lost) {
      registry.TaskLost(Task(0));
    } else {
      registry.Leave(Task(1), {GroupNote::kLeave, 0, "1", {Device(0)}});  // of another task: does not count
      EXPECT_NE(registry.MissingIn("1"), "");
      registry.Leave(Task(0), {GroupNote::kLeave, 0, "1", {Device(0)}});
    }
    EXPECT_TRUE(Join(registry, 0, 2).empty());
    EXPECT_EQ(Join(registry, 1, 2).size(), 2u);
  }
}

TEST(GroupRegistryTest, KnowsWhoWaits) {
  GroupRegistry registry = Registry();
  EXPECT_FALSE(registry.HasJoined(Task(0), "1"));
  Join(registry, 0, 2);
  EXPECT_TRUE(registry.HasJoined(Task(0), "1"));
  EXPECT_FALSE(registry.HasJoined(Task(0), "2"));
  EXPECT_FALSE(registry.HasJoined(Task(1), "1"));
  registry.TaskLost(Task(0));
  EXPECT_FALSE(registry.HasJoined(Task(0), "1"));
  Join(registry, 0, 2);
  Join(registry, 1, 2);  // now it is formed, and nobody waits
  EXPECT_FALSE(registry.HasJoined(Task(0), "1"));
}

TEST(GroupRegistryTest, AKeyThatOthersUseEndsTheirGroup) {
  GroupRegistry registry = Registry();
  Join(registry, 0, 2);
  const uint64_t epoch = Join(registry, 1, 2)[0].note.epoch;
  const auto out = Join(registry, 2, 2);
  ASSERT_EQ(out.size(), 2u);
  for (const auto& one : out) {
    EXPECT_EQ(one.note.epoch, epoch);
    EXPECT_TRUE(absl::IsAborted(one.note.failure()));
  }
  EXPECT_EQ(Join(registry, 3, 2).size(), 2u);
}

TEST(GroupRegistryTest, RefusesNonsense) {
  GroupRegistry registry = Registry();
  for (const char* size : {"0", "-1", "x", "", "99999999999999"}) {
    const auto out = registry.Join(Task(0), {GroupNote::kJoin, 0, "1", {size, Device(0)}});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_TRUE(absl::IsInvalidArgument(out[0].note.failure()));
  }
}

TEST(GroupNoteTest, TravelsInFrames) {
  const GroupNote note = {GroupNote::kReady, 7, "group", {"instance", "", "[2]", std::string("\0x", 2)}};
  const StatusOr<GroupNote> back = GroupNote::FromFrame(note.ToFrame());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->kind, note.kind);
  EXPECT_EQ(back->epoch, note.epoch);
  EXPECT_EQ(back->group, note.group);
  EXPECT_EQ(back->words, note.words);
}

TEST(GroupNoteTest, MalformedOnesAreRefused) {
  Frame frame = GroupNote{GroupNote::kJoin, 0, "g", {"2", "m"}}.ToFrame();
  for (size_t length = 0; length < frame.body.size(); ++length) {
    Frame cut = frame;
    cut.body.resize(length);
    EXPECT_FALSE(GroupNote::FromFrame(cut).ok()) << length;
  }
  for (const uint32_t kind : {0u, 9u, ~0u}) {
    frame.edge = kind;
    EXPECT_FALSE(GroupNote::FromFrame(frame).ok());
  }
  EXPECT_FALSE(GroupNote::FromFrame(GroupNote{GroupNote::kRun, 0, "g", std::vector<std::string>(7)}.ToFrame()).ok());
  EXPECT_FALSE(GroupNote::FromFrame(GroupNote{GroupNote::kReady, 0, "g", std::vector<std::string>(6)}.ToFrame()).ok());
  EXPECT_FALSE(
      GroupNote::FromFrame(GroupNote{GroupNote::kFail, 0, "g", {"1", std::string(5 << 20, 'x')}}.ToFrame()).ok());
}

}  // namespace
}  // namespace millstream
