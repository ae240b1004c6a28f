// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "millstream/base/mutex.h"
#include "millstream/collective/testing/check_collectives.h"
#include "millstream/collective/testing/rank_threads.h"

namespace millstream::collective {
namespace {

using ::millstream::testing::CheckAllReduce;
using ::millstream::testing::CheckEverything;
using ::millstream::testing::SpawnGroup;

constexpr Algorithm kAlgorithms[] = {
    Algorithm::kAuto,   Algorithm::kFlat,    Algorithm::kTree, Algorithm::kRing, Algorithm::kHalvingDoubling,
    Algorithm::kDirect, Algorithm::kTwoLevel};

GroupOptions With(Algorithm algorithm, bool shared_memory = true) {
  GroupOptions options;
  options.name = "test";
  options.algorithm = algorithm;
  options.shared_memory = shared_memory;
  return options;
}

// Hosts that `ranks` ranks are on, `per_host` each.
std::vector<std::string> Hosts(int ranks, int per_host) {
  std::vector<std::string> hosts;
  for (int i = 0; i < ranks; ++i) hosts.push_back(absl::StrCat("host", i / per_host));
  return hosts;
}

TEST(GroupTest, EveryCollectiveAlgorithmTypeAndNumberOfRanks) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      SpawnGroup(ranks, With(algorithm), [&](Group& group) {
        EXPECT_EQ(CheckEverything(group, static_cast<uint32_t>(ranks), 2000), OkStatus())
            << AlgorithmName(algorithm) << ", " << ranks << " ranks";
      });
    }
  }
}

TEST(GroupTest, WithoutSharedMemory) {
  for (const int ranks : {2, 3, 8}) {
    SpawnGroup(ranks, With(Algorithm::kAuto, false), [&](Group& group) {
      EXPECT_FALSE(group.topology().shared_memory);
      EXPECT_EQ(CheckEverything(group, 7, 3000), OkStatus());
    });
  }
}

TEST(GroupTest, SeveralHosts) {
  for (const int ranks : {2, 3, 4, 6, 9, 16}) {
    for (const int per_host : {1, 2, 3, 4}) {
      for (const bool shared : {true, false}) {
        for (const Algorithm algorithm : {Algorithm::kAuto, Algorithm::kTwoLevel}) {
          SpawnGroup(
              ranks, With(algorithm, shared),
              [&](Group& group) {
                EXPECT_EQ(CheckEverything(group, 3, 5000), OkStatus())
                    << ranks << " ranks, " << per_host << " per host";
              },
              Hosts(ranks, per_host));
        }
      }
    }
  }
}

TEST(GroupTest, LargeArrays) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const int ranks : {2, 3, 5}) {
      SpawnGroup(ranks, With(algorithm), [&](Group& group) {
        for (const int64_t count : {262144, 1234567}) {
          EXPECT_EQ(CheckAllReduce(group, count, DType::kFloat, ReduceOp::kMean), OkStatus())
              << AlgorithmName(algorithm) << ", " << ranks << " ranks, " << count;
        }
        EXPECT_EQ(CheckAllReduce(group, 777777, DType::kHalf, ReduceOp::kSum), OkStatus());
        const std::vector<int64_t> counts = EvenCounts(900001, ranks);
        EXPECT_EQ(testing::CheckReduceScatter(group, counts, DType::kInt32, ReduceOp::kMax), OkStatus());
        EXPECT_EQ(testing::CheckAllGather(group, 5, 3'000'000), OkStatus());
        EXPECT_EQ(testing::CheckAllToAll(group, 5, 1'000'000), OkStatus());
        EXPECT_EQ(testing::CheckBroadcast(group, 3'333'333, ranks - 1), OkStatus());
      });
    }
  }
}

// Segments of the sums are passed on while others are still being added: fewer, as many and more of them than are
// expected at a time, and parts of different sizes.
TEST(GroupTest, RingsOfManySegments) {
  for (const int ranks : {1, 2, 3, 4}) {
    SpawnGroup(ranks, With(Algorithm::kRing), [&](Group& group) {
      for (const int64_t segments : {1, 4, 5, 9}) {
        const int64_t bytes = ranks * segments * (480 << 10);
        for (const int64_t more : {-1, 0, 1}) {
          EXPECT_EQ(CheckAllReduce(group, bytes / 4 + more, DType::kFloat, ReduceOp::kMean), OkStatus())
              << ranks << " ranks, " << segments << " segments, " << more;
        }
        EXPECT_EQ(CheckAllReduce(group, bytes / 8 + 3, DType::kInt64, ReduceOp::kMin), OkStatus());
        EXPECT_EQ(CheckAllReduce(group, bytes / 2 - 7, DType::kHalf, ReduceOp::kSum), OkStatus());
      }
    });
  }
}

TEST(GroupTest, ReducesSharedMemoryWhereItLies) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    SpawnGroup(ranks, With(Algorithm::kAuto), [&](Group& group) {
      for (const DType dtype : testing::ReducedTypes()) {
        for (const ReduceOp op : testing::ReduceOps()) {
          EXPECT_EQ(CheckAllReduce(group, 20'001, dtype, op, /*shared=*/true), OkStatus()) << ranks << " ranks";
        }
      }
    });
  }
}

TEST(GroupTest, SomeHaveTheirDataInSharedMemory) {
  SpawnGroup(3, With(Algorithm::kDirect), [&](Group& group) {
    auto shared = group.AllocateShared(400'000);
    ASSERT_TRUE(shared.ok());
    std::vector<float> own(100'000, 1.0f);
    float* const data = group.rank() == 1 ? own.data() : reinterpret_cast<float*>(*shared);
    std::fill_n(data, 100'000, 1.0f);
    ASSERT_EQ(group.AllReduce(data, 100'000, DType::kFloat, ReduceOp::kSum), OkStatus());
    EXPECT_EQ(std::count(data, data + 100'000, 3.0f), 100'000);
  });
}

// Sums of numbers that do not add exactly: the same bits everywhere, and again the next time.
TEST(GroupTest, ResultsAreTheSameEverywhereAndEveryTime) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const int ranks : {2, 3, 7, 8}) {
      Mutex mu;
      std::vector<std::vector<float>> results;
      for (int run = 0; run < 2; ++run) {
        SpawnGroup(
            ranks, With(algorithm),
            [&](Group& group) {
              std::mt19937 random(static_cast<uint32_t>(group.rank()));
              std::vector<float> data(10'007);
              for (float& x : data) x = static_cast<float>(random()) / 1e6f - 2000.0f;
              ASSERT_EQ(group.AllReduce(data.data(), 10'007, DType::kFloat, ReduceOp::kSum), OkStatus());
              MutexLock lock(mu);
              results.push_back(std::move(data));
            },
            Hosts(ranks, algorithm == Algorithm::kTwoLevel ? 3 : ranks));
      }
      for (const std::vector<float>& result : results) {
        EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)), 0)
            << AlgorithmName(algorithm) << ", " << ranks << " ranks";
      }
    }
  }
}

TEST(GroupTest, NamesWhoHasNotEntered) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect}) {
    GroupOptions options = With(algorithm);
    options.timeout = std::chrono::milliseconds(300);
    std::atomic<int> failed{0};
    SpawnGroup(4, options, [&](Group& group) {
      ASSERT_EQ(group.Barrier(), OkStatus());
      Status status;
      float x = 1;
      if (group.rank() != 3) {
        status = group.AllReduce(&x, 1, DType::kFloat, ReduceOp::kSum);
      } else {
        while (failed < 3) std::this_thread::yield();
        status = group.Barrier();  // the epoch is over for the straggler, too
      }
      ++failed;
      EXPECT_THAT(std::string(status.message()),
                  ::testing::HasSubstr("worker:3 at one:2225 has not entered all-reduce 3 for 0 s"));
    });
  }
}

TEST(GroupTest, AbortEndsAllCallsAtOnce) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect}) {
    SpawnGroup(4, With(algorithm), [&](Group& group) {
      (void)group.Barrier();  // all have formed the group; the last ones may hear of the abort here
      if (group.rank() == 2) {
        group.Abort(errors::Unavailable("the user pressed a key"));
      } else {
        const Status status = group.Barrier();
        EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
        EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("the user pressed a key"));
      }
      EXPECT_FALSE(group.status().ok());
      EXPECT_FALSE(group.Barrier().ok());
    });
  }
}

TEST(GroupTest, RefusesWrongArguments) {
  SpawnGroup(2, With(Algorithm::kAuto), [&](Group& group) {
    char x[8] = {};
    EXPECT_TRUE(absl::IsInvalidArgument(group.AllReduce(x, 1, DType::kBool, ReduceOp::kSum)));
    EXPECT_TRUE(absl::IsInvalidArgument(group.Broadcast(x, 1, 2)));
    EXPECT_TRUE(absl::IsInvalidArgument(group.AllGather(x, std::vector<size_t>{1})));
    EXPECT_TRUE(
        absl::IsInvalidArgument(group.ReduceScatter(x, std::vector<int64_t>{1}, DType::kFloat, ReduceOp::kSum)));
    EXPECT_EQ(group.Barrier(), OkStatus());  // the group is still of use
  });
}

TEST(GroupTest, DifferentSizesAreAnError) {
  GroupOptions options = With(Algorithm::kFlat);
  options.timeout = std::chrono::seconds(10);
  std::atomic<int> errors{0};
  SpawnGroup(2, options, [&](Group& group) {
    std::vector<float> data(100);
    if (!group.AllReduce(data.data(), 10 + group.rank(), DType::kFloat, ReduceOp::kSum).ok()) ++errors;
  });
  EXPECT_EQ(errors, 2);
}

}  // namespace
}  // namespace millstream::collective
