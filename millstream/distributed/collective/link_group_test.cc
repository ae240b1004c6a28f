// SPDX-License-Identifier: Apache-2.0
// Groups whose ranks are joined by links: as threads with a hub each, and as processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "millstream/base/notification.h"
#include "millstream/collective/testing/check_collectives.h"
#include "millstream/collective/testing/rank_threads.h"
#include "millstream/distributed/collective/exchange_handler.h"
#include "millstream/distributed/collective/rank_processes.h"
#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/link/testing/link_peers.h"

namespace millstream {
namespace {

using testing::RunRankThreads;

// A task with a hub of its own.
struct Task {
  std::string name;
  collective::FrameExchange exchange;
  ExchangeHandler handler{&exchange};
  std::unique_ptr<LinkHub> hub;
};

class LinkedTasks {
 public:
  LinkedTasks(int count, const std::string& transport) : tasks_(static_cast<size_t>(count)) {
    const LinkOptions options = testing::OptionsFor(transport);
    for (int i = 0; i < count; ++i) {
      Task& task = tasks_[static_cast<size_t>(i)];
      task.name = absl::StrCat("/job:worker/replica:0/task:", i);
      task.hub = testing::StartHub(task.name, options, &task.handler);
      names_.push_back(task.name);
      members_.push_back({absl::StrCat("worker:", i), absl::StrCat("there:", i), "here"});
    }
  }
  ~LinkedTasks() {
    for (Task& task : tasks_) task.hub.reset();  // before any handler goes
  }

  StatusOr<std::unique_ptr<collective::Group>> Join(int rank, const collective::GroupOptions& options) {
    Task& own = tasks_[static_cast<size_t>(rank)];
    const uint64_t key = collective::FrameExchange::Key(options.name, options.epoch, names_);
    ASSIGN_OR_RETURN(
        auto transport,
        own.exchange.Join(key, names_, rank, {[&](const std::string& name) {
                            const auto peer =
                                static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
                            return own.hub->Dial(tasks_[peer].hub->endpoint(), &own.handler, std::chrono::seconds(20));
                          }}));
    return collective::Group::Make(members_, rank, std::move(transport), options);
  }
  void Stop(int rank) { tasks_[static_cast<size_t>(rank)].hub.reset(); }

 private:
  std::vector<Task> tasks_;
  std::vector<std::string> names_;
  std::vector<collective::Member> members_;
};

class LinkGroupTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, LinkGroupTest, ::testing::Values("inproc", "shm", "tcp"));

TEST_P(LinkGroupTest, EveryCollectiveAndAlgorithm) {
  for (const int ranks : {2, 3, 5}) {
    LinkedTasks tasks(ranks, GetParam());
    uint64_t epoch = 0;
    for (const collective::Algorithm algorithm :
         {collective::Algorithm::kAuto, collective::Algorithm::kFlat, collective::Algorithm::kTree,
          collective::Algorithm::kRing, collective::Algorithm::kHalvingDoubling, collective::Algorithm::kDirect,
          collective::Algorithm::kTwoLevel}) {
      ++epoch;
      RunRankThreads(ranks, [&](int rank) {
        collective::GroupOptions options;
        options.name = "test";
        options.epoch = epoch;
        options.algorithm = algorithm;
        options.shared_memory = algorithm == collective::Algorithm::kDirect;
        auto group = tasks.Join(rank, options);
        ASSERT_TRUE(group.ok()) << group.status();
        EXPECT_EQ(testing::CheckEverything(**group, 11, 1500), OkStatus()) << AlgorithmName(algorithm);
        // Larger than what is sent without asking.
        EXPECT_EQ(testing::CheckAllReduce(**group, 200'003, DType::kFloat, collective::ReduceOp::kSum), OkStatus());
        // More than sockets hold, and more segments than are expected at a time.
        const int64_t many = algorithm == collective::Algorithm::kRing ? 4'000'037 : 1;
        EXPECT_EQ(testing::CheckAllReduce(**group, many, DType::kFloat, collective::ReduceOp::kMean), OkStatus());
        EXPECT_EQ(testing::CheckAllGather(**group, 3, 700'000), OkStatus());
        EXPECT_EQ(testing::CheckBroadcast(**group, 900'000, 1), OkStatus());
        EXPECT_EQ((*group)->Barrier(), OkStatus());
      });
    }
  }
}

TEST_P(LinkGroupTest, SixteenRanks) {
  constexpr int kRanks = 16;
  LinkedTasks tasks(kRanks, GetParam());
  uint64_t epoch = 0;
  for (const collective::Algorithm algorithm :
       {collective::Algorithm::kAuto, collective::Algorithm::kFlat, collective::Algorithm::kTree,
        collective::Algorithm::kRing, collective::Algorithm::kHalvingDoubling}) {
    ++epoch;
    RunRankThreads(kRanks, [&](int rank) {
      collective::GroupOptions options;
      options.name = "test";
      options.epoch = epoch;
      options.algorithm = algorithm;
      options.shared_memory = false;
      auto group = tasks.Join(rank, options);
      ASSERT_TRUE(group.ok()) << group.status();
      for (const int64_t count : {0, 1, 37, 1001}) {
        EXPECT_EQ(testing::CheckAllReduce(**group, count, DType::kFloat, collective::ReduceOp::kSum), OkStatus());
        EXPECT_EQ(testing::CheckAllReduce(**group, count, DType::kInt64, collective::ReduceOp::kMax), OkStatus());
      }
      EXPECT_EQ(testing::CheckAllReduce(**group, 40'009, DType::kBfloat16, collective::ReduceOp::kMean), OkStatus());
      EXPECT_EQ(testing::CheckAllGather(**group, 3, 30'000), OkStatus());
      EXPECT_EQ(testing::CheckAllToAll(**group, 5, 10'000), OkStatus());
      EXPECT_EQ(testing::CheckBroadcast(**group, 90'000, 13), OkStatus());
      EXPECT_EQ((*group)->Barrier(), OkStatus());
    });
  }
}

TEST_P(LinkGroupTest, NamesStragglersAndAborts) {
  LinkedTasks tasks(3, GetParam());
  std::atomic<int> failed{0};
  RunRankThreads(3, [&](int rank) {
    collective::GroupOptions options;
    options.name = "test";
    options.timeout = std::chrono::seconds(3);
    options.shared_memory = false;
    auto group = tasks.Join(rank, options);
    ASSERT_TRUE(group.ok()) << group.status();
    Status status;
    if (rank == 1) {
      while (failed < 2) std::this_thread::yield();
      status = (*group)->Barrier();
    } else {
      std::vector<float> data(100'000);
      status = (*group)->AllReduce(data.data(), 100'000, DType::kFloat, collective::ReduceOp::kSum);
    }
    ++failed;
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr("worker:1 at there:1 has not entered all-reduce 2"));
  });
}

TEST_P(LinkGroupTest, ALostMemberEndsTheEpochAndTheOthersGoOn) {
  LinkedTasks tasks(3, GetParam());
  std::atomic<int> ready{0};
  RunRankThreads(3, [&](int rank) {
    collective::GroupOptions options;
    options.name = "test";
    options.shared_memory = rank % 2 == 0;  // one who cannot is enough
    auto group = tasks.Join(rank, options);
    ASSERT_TRUE(group.ok()) << group.status();
    ++ready;
    if (rank == 2) {
      while (ready < 3) std::this_thread::yield();
      tasks.Stop(2);
      return;
    }
    const Status status = (*group)->Barrier();
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/job:worker/replica:0/task:2"));
    const auto survivors = (*group)->AgreeOnSurvivors(std::chrono::seconds(20));
    ASSERT_TRUE(survivors.ok()) << survivors.status();
    EXPECT_EQ(*survivors, (std::vector<int>{0, 1}));
  });
}

// A rank that has its result may leave before the others have theirs: nobody takes it for dead.
TEST_P(LinkGroupTest, WhoHasFinishedMayLeave) {
  for (const bool shared : {false, true}) {
    for (int trial = 0; trial < 20; ++trial) {
      LinkedTasks tasks(3, GetParam());
      RunRankThreads(3, [&](int rank) {
        collective::GroupOptions options;
        options.name = "test";
        options.shared_memory = shared;
        auto group = tasks.Join(rank, options);
        ASSERT_TRUE(group.ok()) << group.status();
        EXPECT_EQ(testing::CheckAllReduce(**group, 1 + trial * 5000, DType::kFloat, collective::ReduceOp::kSum),
                  OkStatus());
        group->reset();
        tasks.Stop(rank);
      });
    }
  }
}

TEST_P(LinkGroupTest, WhoGoesOnWithoutAMemberThatHasLeftIsToldSo) {
  LinkedTasks tasks(2, GetParam());
  Notification left;
  RunRankThreads(2, [&](int rank) {
    collective::GroupOptions options;
    options.name = "test";
    options.shared_memory = false;
    auto group = tasks.Join(rank, options);
    ASSERT_TRUE(group.ok()) << group.status();
    EXPECT_EQ((*group)->Barrier(), OkStatus());
    if (rank == 1) {
      group->reset();
      left.Notify();
      return;
    }
    left.Wait();
    const Status status = (*group)->Barrier();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/job:worker/replica:0/task:1 has left the group"));
  });
}

// Processes: a smaller set, since what differs from threads is the memory that they share.
class RankProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer does not follow threads of forked processes";
#endif
  }
};

TEST_F(RankProcessesTest, EveryCollective) {
  for (const char* transport : {"shm", "tcp"}) {
    for (const int ranks : {1, 2, 4}) {
      for (const bool shared : {true, false}) {
        RankProcessOptions options;
        options.ranks = ranks;
        options.transport = transport;
        options.group.name = "test";
        options.group.shared_memory = shared;
        EXPECT_EQ(RunRankProcesses(options,
                                   [&](collective::Group& group) -> Status {
                                     if (ranks > 1 && group.topology().shared_memory != shared) {
                                       return errors::Internal("memory is not shared as asked");
                                     }
                                     RETURN_IF_ERROR(testing::CheckEverything(group, 5, 4000));
                                     return testing::CheckAllReduce(group, 300'001, DType::kFloat,
                                                                    collective::ReduceOp::kMean, /*shared=*/true);
                                   }),
                  OkStatus())
            << transport << ", " << ranks << " ranks";
      }
    }
  }
}

TEST_F(RankProcessesTest, AProcessThatDiesIsNamed) {
  for (const char* transport : {"shm", "tcp"}) {
    for (const bool shared : {true, false}) {
      RankProcessOptions options;
      options.ranks = 3;
      options.transport = transport;
      options.group.name = "test";
      options.group.shared_memory = shared;
      // Ranks 0 and 1 end well only if they are told of rank 2's death.
      const Status status = RunRankProcesses(options, [&](collective::Group& group) -> Status {
        Status ended = group.Barrier();  // then nobody is still forming the group
        if (group.rank() == 2) raise(SIGKILL);
        while (ended.ok()) ended = group.Barrier();
        const bool named = ended.message().find("task:2") != absl::string_view::npos;
        return named && (absl::IsUnavailable(ended) || absl::IsAborted(ended)) ? OkStatus() : ended;
      });
      EXPECT_EQ(status.message(), "rank 2 failed") << status;
    }
  }
}

// Runs collectives of random kinds and sizes until one fails.
Status RunUntilFailure(collective::Group& group, uint64_t seed, int victim, int fatal_operation,
                       const std::function<void()>& fail) {
  std::mt19937_64 same(seed);        // at all ranks
  RETURN_IF_ERROR(group.Barrier());  // then nobody is still forming the group
  for (int operation = 0; operation < 1000; ++operation) {
    if (group.rank() == victim && operation == fatal_operation) fail();
    const int64_t count = static_cast<int64_t>(same() % 3 == 0 ? same() % 200'000 : same() % 50);
    Status status;
    switch (same() % 4) {
      case 0:
        status = testing::CheckAllReduce(group, count, DType::kFloat, collective::ReduceOp::kSum);
        break;
      case 1:
        status = testing::CheckBroadcast(group, static_cast<size_t>(count), static_cast<int>(same() % 3));
        break;
      case 2:
        status = testing::CheckAllGather(group, static_cast<uint32_t>(same()), static_cast<size_t>(count));
        break;
      default:
        status = group.Barrier();
    }
    if (!status.ok()) return status;
  }
  return OkStatus();
}

// Processes that are killed, or stand still, at random points: the others end with an error that names them.
// MILLSTREAM_TRIALS sets their number.
TEST_F(RankProcessesTest, KillsAndStallsAtRandomPoints) {
  std::mt19937_64 random(7);
  const char* const given = std::getenv("MILLSTREAM_TRIALS");
  const int trials = given == nullptr ? 60 : std::atoi(given);
  for (int trial = 0; trial < trials; ++trial) {
    const bool stall = trial % 6 == 5;
    RankProcessOptions options;
    options.ranks = 3;
    options.transport = trial % 2 == 0 ? "shm" : "tcp";
    options.group.name = "test";
    options.group.shared_memory = trial % 4 < 2;
    if (stall) options.group.timeout = std::chrono::milliseconds(1500);
    const int victim = static_cast<int>(random() % 3), operation = static_cast<int>(random() % 40);
    const std::string name = absl::StrCat("/job:worker/replica:0/task:", victim);
    const uint64_t seed = random();
    const Status status = RunRankProcesses(options, [&](collective::Group& group) -> Status {
      const Status ended = RunUntilFailure(group, seed, victim, operation, [&] {
        if (!stall) raise(SIGKILL);
        std::this_thread::sleep_for(options.group.timeout * 3);
      });
      if (group.rank() == victim) return errors::Cancelled("it is the one that stalled");
      const bool named = absl::StrContains(ended.message(), name);
      return !ended.ok() && named ? OkStatus() : errors::Internal("Not the expected end: ", ended.ToString());
    });
    EXPECT_EQ(status.message(), absl::StrCat("rank ", victim, " failed")) << "trial " << trial << ": " << status;
  }
}

}  // namespace
}  // namespace millstream
