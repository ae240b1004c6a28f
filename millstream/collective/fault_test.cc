// SPDX-License-Identifier: Apache-2.0
// Ranks that die or stall at random points: the others end with an error that says who, and form a new group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>

#include "millstream/base/mutex.h"
#include "millstream/base/notification.h"
#include "millstream/collective/group.h"
#include "millstream/collective/testing/check_collectives.h"
#include "millstream/collective/testing/rank_threads.h"

namespace millstream::collective {
namespace {

enum class Fault { kDeath, kStall };

// The transport of a rank to which something happens at its `at`-th call.
class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> transport, int at, std::function<void()> fault)
      : transport_(std::move(transport)), left_(at), fault_(std::move(fault)) {}

  void Send(int to, uint64_t tag, const void* data, size_t bytes) override {
    Count();
    transport_->Send(to, tag, data, bytes);
  }
  void Expect(int from, uint64_t tag, void* into, size_t bytes) override {
    Count();
    transport_->Expect(from, tag, into, bytes);
  }
  Status Await(int from, uint64_t tag, Deadline deadline) override {
    Count();
    return transport_->Await(from, tag, deadline);
  }
  Status AwaitSent(Deadline deadline) override {
    Count();
    return transport_->AwaitSent(deadline);
  }
  void Abort(const Status& why, bool tell) override { transport_->Abort(why, tell); }
  Status status() const override { return transport_->status(); }
  void OnAbort(std::function<void(const Status&)> call) override { transport_->OnAbort(std::move(call)); }
  void Enter(uint64_t operation) override {
    Count();
    transport_->Enter(operation);
  }
  void Publish(std::string note) override { transport_->Publish(std::move(note)); }
  std::vector<RankState> States(Deadline deadline) override { return transport_->States(deadline); }

 private:
  void Count() {
    if (left_-- == 0) fault_();
  }
  const std::unique_ptr<Transport> transport_;
  int left_;
  const std::function<void()> fault_;
};

// Networks of the next epoch, by who is in it: survivors that agree meet in the same.
class NextEpoch {
 public:
  std::shared_ptr<ThreadNetwork> Of(const std::vector<int>& survivors) {
    MutexLock lock(mu_);
    std::shared_ptr<ThreadNetwork>& network = networks_[survivors];
    if (network == nullptr) network = ThreadNetwork::Make(static_cast<int>(survivors.size()));
    return network;
  }

 private:
  Mutex mu_;
  std::map<std::vector<int>, std::shared_ptr<ThreadNetwork>> networks_ ABSL_GUARDED_BY(mu_);
};

struct Trial {
  explicit Trial(uint32_t seed) : random(seed) {
    ranks = static_cast<int>(2 + random() % 5);
    victim = static_cast<int>(random() % static_cast<uint32_t>(ranks));
    fault = random() % 4 == 0 ? Fault::kStall : Fault::kDeath;
    at = static_cast<int>(random() % 40);
    options.name = absl::StrCat("trial ", seed);
    options.algorithm = static_cast<Algorithm>(random() % 7);
    options.shared_memory = random() % 2 == 0;
    options.timeout = fault == Fault::kStall ? std::chrono::milliseconds(250) : std::chrono::milliseconds(20'000);
    network = ThreadNetwork::Make(ranks);
  }

  void Run() {
    testing::RunRankThreads(ranks, [&](int rank) { RunRank(rank); });
  }

  std::string VictimName() const { return testing::MakeMembers(ranks)[static_cast<size_t>(victim)].ToString(); }

  std::unique_ptr<Transport> JoinAs(int rank) {
    std::unique_ptr<Transport> transport = network->Join(rank);
    if (rank != victim) return transport;
    return std::make_unique<FaultyTransport>(std::move(transport), at, [this] {
      if (fault == Fault::kDeath) {
        network->Kill(victim, VictimName());
      } else {
        others_done.Wait();
      }
    });
  }

  // Collectives until the first error.
  static Status Work(Group& group) {
    for (int i = 0; i < 12; ++i) {
      RETURN_IF_ERROR(testing::CheckAllReduce(group, 100 * i, DType::kFloat, ReduceOp::kSum));
      RETURN_IF_ERROR(testing::CheckBroadcast(group, static_cast<size_t>(50 * i), i % group.size()));
      RETURN_IF_ERROR(testing::CheckAllGather(group, static_cast<uint32_t>(i), 300));
    }
    return OkStatus();
  }

  void RunRank(int rank) {
    auto group = Group::Make(testing::MakeMembers(ranks), rank, JoinAs(rank), options);
    const Status status = group.ok() ? Work(**group) : group.status();
    if (rank == victim) return;
    const bool last = ++ended == ranks - 1;
    // A group that could not even be made is not formed again here: whoever waits for it is told so, too.
    if (!status.ok()) {
      // What the ranks publish of themselves must tell whom they wait for: the victim, if need be among others that are
      // late on a busy machine. A victim that stalls within an operation has entered it: then there is nobody to name.
      ::testing::Matcher<std::string> names_whom = ::testing::HasSubstr(VictimName());
      if (fault == Fault::kStall)
        names_whom = ::testing::AnyOf(names_whom, ::testing::HasSubstr("All members have entered"));
      EXPECT_THAT(std::string(status.message()), names_whom) << options.name;
      if (group.ok()) FormAnew(**group);
    }
    if (last) others_done.Notify();
  }

  void FormAnew(Group& old) {
    const StatusOr<std::vector<int>> survivors = old.AgreeOnSurvivors(std::chrono::milliseconds(300));
    if (!survivors.ok()) {
      EXPECT_THAT(std::string(survivors.status().message()), ::testing::HasSubstr("worker:")) << options.name;
      return;
    }
    EXPECT_EQ(std::count(survivors->begin(), survivors->end(), victim), 0) << options.name;
    const int rank = static_cast<int>(std::find(survivors->begin(), survivors->end(), old.rank()) - survivors->begin());
    std::vector<Member> members;
    for (const int survivor : *survivors) members.push_back(old.members()[static_cast<size_t>(survivor)]);
    GroupOptions next = options;
    next.epoch = old.epoch() + 1;
    next.timeout = std::chrono::seconds(20);
    auto group = Group::Make(members, rank, epochs.Of(*survivors)->Join(rank), next);
    EXPECT_EQ(group.ok() ? Work(**group) : group.status(), OkStatus()) << options.name;
    ++formed;
  }

  std::mt19937 random;
  int ranks = 0, victim = 0, at = 0;
  Fault fault = Fault::kDeath;
  GroupOptions options;
  std::shared_ptr<ThreadNetwork> network;
  NextEpoch epochs;
  Notification others_done;
  std::atomic<int> ended{0}, formed{0};
};

TEST(FaultTest, AThousandDeathsAndStalls) {
  constexpr int kTrials = 1000, kAtOnce = 8;
  std::atomic<uint32_t> next{0};
  std::atomic<int> failed{0}, formed{0};
  testing::RunRankThreads(kAtOnce, [&](int) {
    for (uint32_t seed = next++; seed < kTrials; seed = next++) {
      Trial trial(seed);
      trial.Run();
      formed += trial.formed > 0 ? 1 : 0;
      ++failed;
    }
  });
  EXPECT_EQ(failed, kTrials);
  EXPECT_GT(formed, kTrials / 3);  // in the others the fault came after the work, or before the group was made
}

}  // namespace
}  // namespace millstream::collective
