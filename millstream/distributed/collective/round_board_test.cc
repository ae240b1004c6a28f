// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/round_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millstream {
namespace {

RoundPart Sum(size_t bytes, const std::string& shape = "[1]") { return {"all-reduce", shape, "", bytes, bytes < 1000}; }

std::vector<std::string> Instances(const std::vector<RoundOrder>& batch) {
  std::vector<std::string> instances;
  for (const RoundOrder& order : batch) instances.push_back(order.instance);
  return instances;
}

TEST(RoundBoardTest, RoundsAreCompleteWhenAllTasksAreReady) {
  RoundBoard board("1", {"a", "b", "c"});
  EXPECT_TRUE(board.SetReady(2, "x", Sum(2000)));
  EXPECT_TRUE(board.SetReady(0, "x", Sum(2000)));
  EXPECT_FALSE(board.has_complete());
  EXPECT_EQ(board.MissingIn("x"), "b");
  EXPECT_EQ(board.MissingIn("y"), "a, b, c");
  EXPECT_TRUE(board.SetReady(1, "x", Sum(2000)));
  ASSERT_TRUE(board.has_complete());
  const std::vector<RoundOrder> batch = board.TakeBatch();
  EXPECT_EQ(Instances(batch), (std::vector<std::string>{"x"}));
  EXPECT_EQ(batch[0].error, OkStatus());
  EXPECT_FALSE(board.has_complete());
}

TEST(RoundBoardTest, ATaskThatIsAheadWaitsForTheOthers) {
  RoundBoard board("1", {"a", "b"});
  for (int i = 0; i < 3; ++i) board.SetReady(0, "x", Sum(2000));
  board.SetReady(1, "x", Sum(2000));
  EXPECT_EQ(board.TakeBatch().size(), 1u);
  EXPECT_FALSE(board.has_complete());
  EXPECT_EQ(board.MissingIn("x"), "b");
}

TEST(RoundBoardTest, FusesSmallReductionsOfOneKind) {
  RoundBoard board("1", {"a", "b"});
  for (const char* instance : {"1", "large", "2", "other", "3"}) {
    RoundPart part = Sum(instance == std::string("large") ? 1'000'000 : 10);
    if (instance == std::string("other")) part.what = "all-reduce of int32";
    board.SetReady(1, instance, part);
    board.SetReady(0, instance, part);
  }
  EXPECT_EQ(Instances(board.TakeBatch()), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(Instances(board.TakeBatch()), (std::vector<std::string>{"large"}));
  EXPECT_EQ(Instances(board.TakeBatch()), (std::vector<std::string>{"other"}));
  EXPECT_FALSE(board.has_complete());
}

TEST(RoundBoardTest, ABatchHasALimit) {
  RoundBoard board("1", {"a", "b"});
  const int fit = static_cast<int>(kFusedBytes / 999);
  for (int i = 0; i < fit + 5; ++i) {
    board.SetReady(0, absl::StrCat(i), Sum(999));
    board.SetReady(1, absl::StrCat(i), Sum(999));
  }
  EXPECT_EQ(board.TakeBatch().size(), static_cast<size_t>(fit));
  EXPECT_EQ(board.TakeBatch().size(), 5u);
}

TEST(RoundBoardTest, PartsThatDoNotFitAreAnErrorThatNamesTasks) {
  RoundBoard board("7", {"worker:0", "worker:1"});
  board.SetReady(0, "3", Sum(8, "[2]"));
  board.SetReady(1, "3", Sum(12, "[3]"));
  const std::vector<RoundOrder> batch = board.TakeBatch();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(batch[0].error));
  EXPECT_THAT(
      std::string(batch[0].error.message()),
      ::testing::AllOf(::testing::HasSubstr("Shape mismatch"), ::testing::HasSubstr("instance key 3 of group 7"),
                       ::testing::HasSubstr("worker:0 has all-reduce [2]"),
                       ::testing::HasSubstr("worker:1 has all-reduce [3]")));
}

TEST(RoundBoardTest, AnErrorIsNotFused) {
  RoundBoard board("7", {"a", "b"});
  for (const char* instance : {"good", "bad", "good2"}) {
    board.SetReady(0, instance, Sum(8));
    board.SetReady(1, instance, Sum(8, instance == std::string("bad") ? "[9]" : "[1]"));
  }
  EXPECT_EQ(Instances(board.TakeBatch()), (std::vector<std::string>{"good", "good2"}));
  EXPECT_EQ(Instances(board.TakeBatch()), (std::vector<std::string>{"bad"}));
}

TEST(RoundBoardTest, BroadcastsHaveOneSource) {
  for (const int sources : {0, 1, 2}) {
    RoundBoard board("1", {"a", "b"});
    board.SetReady(0, "x", {"broadcast of float", "", sources == 2 ? "[5]" : "", 0, false});
    board.SetReady(1, "x", {"broadcast of float", "", sources > 0 ? "[5]" : "", 0, false});
    const RoundOrder order = board.TakeBatch()[0];
    EXPECT_EQ(order.error.ok(), sources == 1) << order.error;
    if (sources != 1) continue;
    EXPECT_EQ(order.plan.source_task, 1u);
    EXPECT_EQ(order.plan.source_shape, "[5]");
  }
}

TEST(RoundBoardTest, TheNumberOfOpenRoundsIsLimited) {
  RoundBoard board("1", {"a", "b"});
  int open = 0;
  while (open < 100'000 && board.SetReady(1, absl::StrCat(open), Sum(1))) ++open;
  EXPECT_LT(open, 100'000);
}

}  // namespace
}  // namespace millstream
