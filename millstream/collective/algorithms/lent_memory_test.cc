// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/lent_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>

#include "millstream/collective/testing/check_collectives.h"
#include "millstream/collective/testing/rank_threads.h"
#include "millstream/tensor/tensor.h"

namespace millstream::collective {
namespace {

using ::millstream::testing::CheckAllReduceOfTensors;
using ::millstream::testing::ReducedTypes;
using ::millstream::testing::ReduceOps;
using ::millstream::testing::RunRankThreads;
using ::millstream::testing::SpawnGroup;

// Ranks that tell each other what they call Agree() with; `change` may lie on behalf of a rank.
class Meeting {
 public:
  using Change = std::function<void(int rank, int message, std::span<char> told)>;

  Meeting(int ranks, Change change) : change_(std::move(change)), told_(static_cast<size_t>(ranks)), meet_(ranks) {}
  std::unique_ptr<LentMemory> Agree(int rank) {
    int message = 0;
    auto lent =
        LentMemory::Agree(rank, static_cast<int>(told_.size()), [&](std::span<const char> own, std::vector<char>* all) {
          std::vector<char>& mine = told_[static_cast<size_t>(rank)];
          mine.assign(own.begin(), own.end());
          if (change_) change_(rank, message, mine);
          ++message;
          meet_.arrive_and_wait();
          for (const auto& one : told_) all->insert(all->end(), one.begin(), one.end());
          meet_.arrive_and_wait();
          return OkStatus();
        });
    EXPECT_EQ(lent.status(), OkStatus());
    return lent.ok() ? *std::move(lent) : nullptr;
  }

 private:
  const Change change_;
  std::vector<std::vector<char>> told_;
  std::barrier<> meet_;
};

int CountLending(int ranks, const Meeting::Change& change) {
  Meeting meeting(ranks, change);
  std::atomic<int> lending{0};
  RunRankThreads(ranks, [&](int rank) { lending += meeting.Agree(rank) == nullptr ? 0 : 1; });
  return lending;
}

class LentMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (SharedRegion::Enable() == nullptr) GTEST_SKIP() << "no shared region here";
  }
};

TEST_F(LentMemoryTest, RanksFindEachOthersTensors) {
  Meeting meeting(2, nullptr);
  RunRankThreads(2, [&](int rank) {
    const std::unique_ptr<LentMemory> lent = meeting.Agree(rank);
    ASSERT_NE(lent, nullptr);
    Tensor tensor = Tensor::Make(DType::kInt32, Shape({1 << 20})).value();
    tensor.data<int32_t>()[7] = 41;
    const int64_t where = lent->WhereIs(tensor.raw());
    ASSERT_GE(where, 0);
    const char* const found = lent->Find(where, 1 - rank, tensor.ByteSize());
    ASSERT_NE(found, nullptr);
    EXPECT_NE(found, tensor.raw());
    EXPECT_EQ(reinterpret_cast<const int32_t*>(found)[7], 41);
    int32_t on_the_stack = 0;
    EXPECT_EQ(lent->WhereIs(&on_the_stack), -1);
    EXPECT_EQ(lent->Find(-1, 1 - rank, 1), nullptr);
    EXPECT_EQ(lent->Find(INT64_MAX, 1 - rank, 1), nullptr);
    EXPECT_EQ(lent->Find(where, 1 - rank, SIZE_MAX), nullptr);
    EXPECT_EQ(lent->Find(0, 1 - rank, SIZE_MAX - 1), nullptr);
  });
}

TEST_F(LentMemoryTest, AllAgreeThatOneCannotLend) {
  for (const int ranks : {2, 3}) {
    EXPECT_EQ(CountLending(ranks, nullptr), ranks);
    for (const int message : {0, 1, 2}) {
      const auto nothing = [&](int rank, int which, std::span<char> told) {
        if (rank == 1 && which == message) std::memset(told.data(), 0, told.size());
      };
      EXPECT_EQ(CountLending(ranks, nothing), 0) << message;
    }
  }
}

// A name begins with a process, a descriptor and a place in the file that the descriptor stands for.
TEST_F(LentMemoryTest, WhoNamesMemoryThatItCannotWriteIsNotBelieved) {
  const auto with = [](size_t field, int64_t value) {
    return [=](int rank, int message, std::span<char> told) {
      if (rank == 1 && message == 0) std::memcpy(told.data() + field * sizeof(value), &value, sizeof(value));
    };
  };
  for (const int64_t place : {int64_t{8}, int64_t{1} << 20, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(CountLending(2, with(2, place)), 0) << place;
  }
  for (const int64_t descriptor : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, INT64_MIN}) {
    EXPECT_EQ(CountLending(2, with(1, descriptor)), 0) << descriptor;
  }
  for (const int64_t process : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MAX}) {
    EXPECT_EQ(CountLending(2, with(0, process)), 0) << process;
  }
}

TEST_F(LentMemoryTest, TensorsAreReducedWhereTheyLie) {
  for (const int ranks : {2, 3, 5}) {
    SpawnGroup(ranks, {}, [&](Group& group) {
      ASSERT_TRUE(group.topology().shared_memory);
      for (const DType dtype : ReducedTypes()) {
        for (const ReduceOp op : ReduceOps()) {
          for (const int64_t count : {0, 1, 9000, 70'001, 300'007}) {
            EXPECT_EQ(CheckAllReduceOfTensors(group, count, dtype, op, SumOrder::kAnyPlace), OkStatus())
                << DTypeName(dtype) << " " << count;
          }
        }
      }
    });
  }
}

TEST_F(LentMemoryTest, OtherAlgorithmsLeaveTheirInputAloneToo) {
  for (const Algorithm algorithm : {Algorithm::kFlat, Algorithm::kTree, Algorithm::kRing, Algorithm::kHalvingDoubling,
                                    Algorithm::kDirect, Algorithm::kTwoLevel}) {
    GroupOptions options;
    options.algorithm = algorithm;
    for (const bool shared : {true, false}) {
      options.shared_memory = shared;
      SpawnGroup(3, options, [&](Group& group) {
        for (const int64_t count : {1, 40'000}) {
          EXPECT_EQ(CheckAllReduceOfTensors(group, count, DType::kFloat, ReduceOp::kMean, SumOrder::kFastest),
                    OkStatus())
              << AlgorithmName(algorithm) << " " << count;
        }
      });
    }
  }
}

}  // namespace
}  // namespace millstream::collective
