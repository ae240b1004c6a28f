// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/staleness_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/ops/resources/handle.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

// A call of a worker that may have to wait.
struct Call {
  Notification ended;
  Status status;
  int64_t lead = -1;
};

class StalenessClockTest : public ::testing::Test {
 protected:
  Edge Make(int64_t workers, int64_t staleness, const char* name = "clock") {
    makers_.push_back(
        std::make_unique<OpRunner>(env_, "StalenessClock",
                                   std::vector<std::pair<std::string, AttrValue>>{
                                       {"num_workers", workers}, {"staleness", staleness}, {"shared_name", name}}));
    StatusOr<std::vector<Edge>> made = makers_.back()->Run({});
    status_ = made.status();
    return made.ok() ? (*made)[0] : Edge(Tensor());
  }
  static void Start(OpRunner& op, const Edge& clock, int64_t worker, const std::shared_ptr<Call>& call) {
    op.Start({clock, Tensor::Scalar<int64_t>(worker)}, [call](StatusOr<std::vector<Edge>> r) {
      call->status = r.status();
      if (r.ok()) call->lead = (*r)[0].tensor.scalar<int64_t>();
      call->ended.Notify();
    });
  }
  std::shared_ptr<Call> Advance(const Edge& clock, int64_t worker) {
    auto call = std::make_shared<Call>();
    Start(advance_, clock, worker, call);
    return call;
  }
  std::shared_ptr<Call> Join(const Edge& clock, int64_t worker) {
    auto call = std::make_shared<Call>();
    Start(join_, clock, worker, call);
    return call;
  }
  Status Leave(const Edge& clock, int64_t worker) {
    return leave_.Run({clock, Tensor::Scalar<int64_t>(worker)}).status();
  }
  std::shared_ptr<const ObservedClock> Shown() { return census_->Clocks().at(0); }
  void SetUp() override { census_->AttachTo(&env_.resources); }
  void TearDown() override { env_.cancellation.StartCancel(errors::Cancelled("the test ends")); }

  const Ref<Census> census_ = MakeRef<Census>();
  OpRunner::Env env_{2};
  OpRunner join_{env_, "StalenessClockJoin"};
  OpRunner advance_{env_, "StalenessClockAdvance"};
  OpRunner leave_{env_, "StalenessClockLeave"};
  std::vector<std::unique_ptr<OpRunner>> makers_;
  Status status_;
};

TEST_F(StalenessClockTest, AFastWorkerWaitsForTheSlowestOne) {
  for (const int64_t bound : {0, 1, 3}) {
    const std::string name = absl::StrCat("bound", bound);
    const Edge clock = Make(3, bound, name.c_str());
    for (int64_t i = 0; i < bound; ++i) {
      const auto step = Advance(clock, 0);
      ASSERT_TRUE(step->ended.HasBeenNotified());
      EXPECT_EQ(step->lead, i + 1);
    }
    const auto held = Advance(clock, 0);
    EXPECT_FALSE(held->ended.HasBeenNotified());
    const auto second = Advance(clock, 1);
    EXPECT_EQ(second->ended.HasBeenNotified(), bound > 0);
    EXPECT_FALSE(held->ended.HasBeenNotified());  // worker 2 has made no step yet
    const auto third = Advance(clock, 2);
    held->ended.Wait();
    second->ended.Wait();
    third->ended.Wait();
    EXPECT_EQ(held->lead, bound);
    EXPECT_EQ(third->lead, 0);
  }
}

// Each call that ends is checked against clocks that this test keeps: a worker's is raised before its call, so no other
// worker can be seen further behind than it is.
TEST_F(StalenessClockTest, TheBoundIsNeverExceeded) {
  constexpr int kWorkers = 4, kSteps = 300;
  for (const int64_t bound : {0, 2, 5}) {
    const std::string name = absl::StrCat("random", bound);
    const Edge clock = Make(kWorkers, bound, name.c_str());
    std::array<std::atomic<int64_t>, kWorkers> begun{};  // steps whose Advance() has been called
    std::atomic<int> wrong{0}, largest{0};
    std::vector<std::thread> threads;
    for (int worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([&, worker] {
        std::mt19937 random(worker);
        for (int64_t step = 1; step <= kSteps; ++step) {
          if (worker == 0 && random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
          begun[worker] = step;
          const auto call = Advance(clock, worker);
          call->ended.Wait();
          for (const auto& other : begun) wrong += step - other > bound;
          wrong += call->lead < 0 || call->lead > bound;
          largest = std::max<int>(largest, static_cast<int>(call->lead));
        }
        (void)Leave(clock, worker);
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0) << "bound " << bound;
    if (bound > 0) {
      EXPECT_GT(largest, 0);
    }
    int64_t counted = 0;
    for (const auto& shown : census_->Clocks()) {
      if (shown->name != name) continue;
      for (size_t lead = 0; lead < ObservedClock::kBuckets; ++lead) {
        counted += shown->leads[lead];
        if (static_cast<int64_t>(lead) > bound) {
          EXPECT_EQ(shown->leads[lead], 0);
        }
      }
    }
    EXPECT_EQ(counted, int64_t{kWorkers} * kSteps);
  }
}

TEST_F(StalenessClockTest, NobodyWaitsForAWorkerThatHasLeft) {
  const Edge clock = Make(2, 0);
  const auto held = Advance(clock, 0);
  EXPECT_FALSE(held->ended.HasBeenNotified());
  EXPECT_EQ(Shown()->waiting, 1);
  ASSERT_EQ(Leave(clock, 1), OkStatus());
  held->ended.Wait();
  EXPECT_EQ(Shown()->waiting, 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Advance(clock, 0)->ended.HasBeenNotified());
  // One that comes back goes on where the slowest is.
  EXPECT_EQ(Join(clock, 1)->lead, 0);
  EXPECT_EQ(Shown()->slowest, 6);
  EXPECT_FALSE(Advance(clock, 0)->ended.HasBeenNotified());
  EXPECT_TRUE(Advance(clock, 1)->ended.HasBeenNotified());
}

TEST_F(StalenessClockTest, ANewTrainingBeginsWhenAllHaveLeft) {
  const Edge clock = Make(2, 1);
  (void)Advance(clock, 0);
  ASSERT_EQ(Leave(clock, 0), OkStatus());
  ASSERT_EQ(Leave(clock, 1), OkStatus());
  EXPECT_EQ(Join(clock, 0)->lead, 0);
  EXPECT_TRUE(Advance(clock, 0)->ended.HasBeenNotified());
  EXPECT_FALSE(Advance(clock, 0)->ended.HasBeenNotified());  // worker 1 counts from the start again
}

// What a session does that is made again after its step was cancelled.
TEST_F(StalenessClockTest, ACancelledWaitIsTakenUpAgainByJoin) {
  const Edge clock = Make(2, 0);
  const auto held = Advance(clock, 0);
  env_.cancellation.StartCancel(errors::Cancelled("the step ends"));
  held->ended.Wait();
  EXPECT_TRUE(absl::IsCancelled(held->status)) << held->status;
  EXPECT_EQ(Shown()->waiting, 0);

  OpRunner::Env next{2};
  OpRunner join(next, "StalenessClockJoin"), advance(next, "StalenessClockAdvance");
  const auto again = std::make_shared<Call>(), other = std::make_shared<Call>();
  Start(join, clock, 0, again);
  EXPECT_FALSE(again->ended.HasBeenNotified());  // its step has been counted
  Start(advance, clock, 1, other);
  again->ended.Wait();
  EXPECT_EQ(again->lead, 0);
}

TEST_F(StalenessClockTest, RefusesWhatMakesNoSense) {
  Make(0, 0, "none");
  EXPECT_TRUE(absl::IsInvalidArgument(status_)) << status_;
  Make(int64_t{1} << 40, 0, "many");
  EXPECT_TRUE(absl::IsInvalidArgument(status_)) << status_;
  Make(2, -1, "negative");
  EXPECT_TRUE(absl::IsInvalidArgument(status_)) << status_;
  const Edge clock = Make(2, 1);
  Make(3, 1);
  EXPECT_THAT(std::string(status_.message()), ::testing::HasSubstr("is for 2 workers and staleness 1"));
  for (const int64_t worker : {-1, 2}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Advance(clock, worker)->status));
    EXPECT_TRUE(absl::IsInvalidArgument(Join(clock, worker)->status));
    EXPECT_TRUE(absl::IsInvalidArgument(Leave(clock, worker)));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(leave_.Run({clock, Tensor::Vector<int64_t>({0, 1})}).status()));
}

// Waits are never silent: the log names the slow workers.
TEST_F(StalenessClockTest, ALongWaitNamesTheSlowWorkers) {
  StalenessClock::Options options;
  options.name = "slow";
  options.num_workers = 3;
  options.warn_after = std::chrono::milliseconds(20);
  const Ref<StalenessClock> clock = MakeRef<StalenessClock>(options);
  ASSERT_EQ(env_.resources.Create("", "slow", clock), OkStatus());
  const Edge handle = MakeHandle(*env_.device, "", "slow", "StalenessClock", clock);
  ::testing::internal::CaptureStderr();
  const auto held = Advance(handle, 1);
  std::string log;
  for (int i = 0; i < 500 && log.find("waiting for worker 0, worker 2 at step 0") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    log += ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
  }
  ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, ::testing::HasSubstr(
                       "worker 1 is at step 1, the staleness bound is 0: waiting for worker 0, worker 2 at step 0"));
  ASSERT_EQ(Leave(handle, 0), OkStatus());
  ASSERT_EQ(Leave(handle, 2), OkStatus());
  held->ended.Wait();
}

}  // namespace
}  // namespace millstream
