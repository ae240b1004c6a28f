// SPDX-License-Identifier: Apache-2.0
// Networks that lose what one task sends to another: a step never waits for a value that was lost.
#include <gtest/gtest.h>

#include <thread>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using testing::DirectCluster;

constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1";
constexpr size_t kMasterAt = 0;

// A value goes from one task to another: "far" at `to` is the negative of "near" at `from`.
class LostValuesTest : public ::testing::TestWithParam<std::pair<size_t, size_t>> {
 protected:
  size_t from() const { return GetParam().first; }
  size_t to() const { return GetParam().second; }

  void SetUp() override {
    const Scope at_from = root_.WithDevice(tasks_[from()]), at_to = root_.WithDevice(tasks_[to()]);
    const Output x = root_.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    const Output near = at_from.WithOpName("near").Op("Square", {x});
    const Output far = at_to.WithOpName("far").Op("Neg", {near});
    at_to.WithOpName("sum").Op("Add", {far, at_to.Const(0.f)});
    const Output queue =
        at_from.WithOpName("q").Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
    Node* taken = at_from.WithOpName("taken").Add("QueueDequeueV2", {queue},
                                                  {{"component_types", std::vector<DType>{DType::kFloat}}});
    at_from.WithOpName("put").Op("QueueEnqueueV2", {queue, x}, {{"Tcomponents", std::vector<DType>{DType::kFloat}}});
    at_to.WithOpName("late").Op("Neg", {Output(taken, 0)});
    ASSERT_TRUE(root_.ok()) << root_.status();
  }

  std::unique_ptr<MasterSession> NewSession() {
    auto session = cluster_.NewSession();
    EXPECT_TRUE(session->Extend(*root_.graph()).ok());
    return session;
  }
  // Would end by itself only if the step hangs.
  static Status Run(MasterSession& session, const std::string& fetch) {
    RunOptions options;
    options.timeout_ms = 20'000;
    std::vector<Tensor> out;
    RETURN_IF_ERROR(session.Run(options, {{"x:0", Tensor::Scalar(3.f)}}, {fetch}, {}, &out, nullptr));
    return out[0].scalar<float>() == -9.f ? OkStatus() : errors::Internal("a wrong value");
  }
  // Waits until `from` has sent its value and answered.
  void AwaitSender(uint64_t parts_before) {
    const PartCounters& counters = cluster_.worker(from()).counters();
    while (counters.ended.value() == parts_before || cluster_.worker(from()).num_running() > 0)
      std::this_thread::yield();
  }

  const std::vector<std::string> tasks_ = {kWorker, kPs0, kPs1};
  DirectCluster cluster_{tasks_, std::chrono::milliseconds(50)};
  Scope root_ = Scope::Root();
};

// The network fails when the value is on its way and the receiver has not been told to run; the ends give up the link
// one long before the other, and then the network is well again.
TEST_P(LostValuesTest, BeforeTheReceiverBegins) {
  if (to() == kMasterAt) return;  // it begins its own part at once
  auto session = NewSession();
  ASSERT_EQ(Run(*session, "far:0"), OkStatus());
  for (const bool dialer_notices : {true, false}) {
    // A master waits for answers until its own end of the link gives up.
    if (from() == kMasterAt && !dialer_notices) continue;
    const uint64_t before = cluster_.worker(from()).counters().ended.value();
    cluster_.Hold(from(), to());
    cluster_.Hold(kMasterAt, to());
    Status status;
    std::thread step([&] { status = Run(*session, "far:0"); });
    AwaitSender(before);
    dialer_notices ? cluster_.LoseAtDialer(from(), to()) : cluster_.LoseAtAcceptor(from(), to());
    if (from() != kMasterAt) cluster_.Release(kMasterAt, to());
    step.join();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    const std::string& named = tasks_[from() == kMasterAt ? to() : from()];
    EXPECT_NE(status.message().find(named), absl::string_view::npos) << status;
    cluster_.Lose(from(), to());
    session = NewSession();
    ASSERT_EQ(Run(*session, "far:0"), OkStatus());
  }
}

// What a part sends into a link that has ended goes nowhere.
TEST_P(LostValuesTest, BetweenSteps) {
  auto session = NewSession();
  ASSERT_EQ(Run(*session, "far:0"), OkStatus());
  for (const auto& lose : {&DirectCluster::Lose, &DirectCluster::LoseAtDialer, &DirectCluster::LoseAtAcceptor}) {
    if (from() == kMasterAt && lose == &DirectCluster::LoseAtAcceptor) continue;  // as above
    (cluster_.*lose)(from(), to());
    const Status status = Run(*session, "far:0");
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
    cluster_.Lose(from(), to());
    session = NewSession();
    ASSERT_EQ(Run(*session, "far:0"), OkStatus());
  }
}

// Links end at any moment of steps that are just beginning: every step ends, with its value or an error, and none of
// them waits in the way of the next session. The thread sanitizer looks at it.
TEST_P(LostValuesTest, WhileStepsBegin) {
  constexpr int kThreads = 3, kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::unique_ptr<MasterSession> session = NewSession();
    ASSERT_EQ(Run(*session, "far:0"), OkStatus());
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Status status;
        while (status.ok()) {
          ++begun;
          status = Run(*session, "far:0");
        }
        EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
      });
    }
    while (begun < kThreads + round) std::this_thread::yield();
    cluster_.Lose(from(), to());
    for (std::thread& thread : threads) thread.join();
  }
  ASSERT_EQ(Run(*NewSession(), "far:0"), OkStatus());
}

// The other direction of the same two tasks.
TEST_P(LostValuesTest, OfTheLinkBack) {
  auto session = NewSession();
  ASSERT_EQ(Run(*session, "far:0"), OkStatus());
  cluster_.Hold(to(), from());  // dialed now
  cluster_.Lose(to(), from());
  Status status = Run(*session, "far:0");
  EXPECT_TRUE(status.ok() || absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
  session = NewSession();
  EXPECT_EQ(Run(*session, "far:0"), OkStatus());
}

// The receiver was registered when its end of the link had been given up, and the sender did not know.
TEST_P(LostValuesTest, BeforeTheReceiverIsRegistered) {
  auto session = NewSession();
  ASSERT_EQ(Run(*session, "far:0"), OkStatus());
  from() == kMasterAt ? cluster_.Lose(from(), to()) : cluster_.LoseAtAcceptor(from(), to());
  const Status status = Run(*session, "sum:0");
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
  if (absl::IsUnavailable(status)) {
    EXPECT_NE(status.message().find(tasks_[from()]), absl::string_view::npos) << status;
  }
}

// A sender that is only slow is waited for.
TEST_P(LostValuesTest, ButNotOfASenderThatIsBusy) {
  auto session = NewSession();
  Status status;
  std::thread step([&] {
    RunOptions options;
    options.timeout_ms = 20'000;
    std::vector<Tensor> out;
    status = session->Run(options, {}, {"late:0"}, {}, &out, nullptr);
  });
  // Asked several times meanwhile.
  while (cluster_.worker(to()).questions_answered() < 3) std::this_thread::yield();
  EXPECT_EQ(session->Run({{"x:0", Tensor::Scalar(1.f)}}, {}, {"put"}, nullptr), OkStatus());
  step.join();
  EXPECT_EQ(status, OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Tasks, LostValuesTest,
                         ::testing::Values(std::pair<size_t, size_t>(1, 2), std::pair<size_t, size_t>(2, 1),
                                           std::pair<size_t, size_t>(0, 1), std::pair<size_t, size_t>(1, 0)));

}  // namespace
}  // namespace millstream
