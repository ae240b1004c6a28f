// SPDX-License-Identifier: Apache-2.0
// Steps that a client repeats after an outage take from queues and accumulators once, and put into them once.
#include <gtest/gtest.h>

#include <thread>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/scope.h"

namespace millstream {
namespace {

using testing::DirectCluster;

constexpr size_t kMaster = 0, kPs = 1;

// A queue with room for two and an accumulator at a ps. The parameter: with resource handles, or with references.
class RepeatedActsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const std::vector<DType> types{DType::kFloat};
    const Output queue = ps_.WithOpName("queue").Op(resource() ? "FIFOQueueV2" : "FIFOQueue", {},
                                                    {{"component_types", types},
                                                     {"shapes", std::vector<PartialShape>{PartialShape(Shape())}},
                                                     {"capacity", int64_t{2}},
                                                     {"shared_name", "queue"}});
    const Output value =
        root_.WithDevice(tasks_[kMaster]).WithOpName("value").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
    ps_.WithOpName("put").Add(Queue("QueueEnqueue"), {queue, value}, {{"Tcomponents", types}});
    ps_.WithOpName("put_three")
        .Add(Queue("QueueEnqueueMany"), {queue, ps_.Const(Tensor::Vector<float>({1, 2, 3}))}, {{"Tcomponents", types}});
    ps_.WithOpName("take").Add(Queue("QueueDequeue"), {queue}, {{"component_types", types}});
    ps_.WithOpName("take_two").Add(Queue("QueueDequeueMany"), {queue, ps_.Const(2)}, {{"component_types", types}});
    ps_.WithOpName("close").Add(Queue("QueueClose"), {queue});
    ps_.WithOpName("size").Add(Queue("QueueSize"), {queue});
    const Output accumulator =
        ps_.WithOpName("accumulator")
            .Op(resource() ? "ResourceConditionalAccumulator" : "ConditionalAccumulator", {},
                {{"dtype", DType::kFloat}, {"shape", PartialShape({})}, {"shared_name", "accumulator"}});
    const Output step = ps_.Const(int64_t{0});
    ps_.WithOpName("push").Add(Accumulator("ApplyGradient"), {accumulator, step, value});
    ps_.WithOpName("mean").Add(Accumulator("TakeGradient"), {accumulator, ps_.Const(1)}, {{"dtype", DType::kFloat}});
    ps_.WithOpName("pushed").Add(Accumulator("NumAccumulated"), {accumulator});
    ps_.WithOpName("begin").Add(Accumulator("SetGlobalStep"), {accumulator, step});
    ASSERT_TRUE(root_.ok()) << root_.status();
  }

  bool resource() const { return GetParam(); }
  std::string Queue(const char* op) const { return absl::StrCat(op, resource() ? "V2" : ""); }
  std::string Accumulator(const char* op) const {
    return absl::StrCat(resource() ? "ResourceAccumulator" : "Accumulator", op);
  }

  std::unique_ptr<MasterSession> NewSession() {
    auto session = cluster_.NewSession();
    EXPECT_TRUE(session->Extend(*root_.graph()).ok());
    return session;
  }
  static Status Run(MasterSession& session, StepIdentity identity, const std::string& target, float value = 1,
                    int64_t timeout_ms = 60'000) {
    RunOptions options;
    options.timeout_ms = timeout_ms;
    options.identity = identity;
    return session.Run(options, {{"value:0", Tensor::Scalar(value)}}, {}, {target}, nullptr, nullptr);
  }
  // -1 if it fails.
  static float Fetch(MasterSession& session, StepIdentity identity, const std::string& node) {
    RunOptions options;
    options.timeout_ms = 60'000;
    options.identity = identity;
    std::vector<Tensor> out;
    const Status status = session.Run(options, {}, {node + ":0"}, {}, &out, nullptr);
    if (!status.ok()) return -1;
    if (out[0].dtype() == DType::kInt32) return static_cast<float>(out[0].data<int32_t>()[0]);
    return out[0].data<float>()[0];
  }
  float Now(const std::string& node) { return Fetch(*NewSession(), {}, node); }
  Status Put(float value) { return Run(*NewSession(), {}, "put", value); }
  // Until as many parts run at the ps.
  void AwaitRunning(size_t count) {
    while (cluster_.worker(kPs).num_running() != count) std::this_thread::yield();
  }

  const std::vector<std::string> tasks_ = {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"};
  DirectCluster cluster_{tasks_, std::chrono::milliseconds(50)};
  Scope root_ = Scope::Root();
  const Scope ps_ = root_.WithDevice(tasks_[kPs]);
};

TEST_P(RepeatedActsTest, PutOnce) {
  for (const StepIdentity identity : {StepIdentity{7, 1}, StepIdentity{7, 2}}) {
    for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Run(*NewSession(), identity, "put"), OkStatus());
  }
  EXPECT_EQ(Now("size"), 2);
}

TEST_P(RepeatedActsTest, TakeOnce) {
  ASSERT_EQ(Put(1), OkStatus());
  ASSERT_EQ(Put(2), OkStatus());
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Fetch(*NewSession(), {7, 1}, "take"), 1);
  EXPECT_EQ(Now("size"), 1);
  EXPECT_EQ(Fetch(*NewSession(), {8, 1}, "take"), 2);
}

// The next step of a client shows that the one before was answered.
TEST_P(RepeatedActsTest, KeepNothingOfStepsThatWereAnswered) {
  ASSERT_EQ(Put(1), OkStatus());
  EXPECT_EQ(Fetch(*NewSession(), {7, 1}, "take"), 1);
  ASSERT_EQ(Put(2), OkStatus());
  ASSERT_EQ(Put(3), OkStatus());
  EXPECT_EQ(Fetch(*NewSession(), {7, 2}, "take"), 2);
  EXPECT_EQ(Fetch(*NewSession(), {7, 1}, "take"), 3);
}

TEST_P(RepeatedActsTest, WhoseAnswerWasLost) {
  ASSERT_EQ(Put(1), OkStatus());
  ASSERT_EQ(Put(2), OkStatus());
  auto session = NewSession();
  EXPECT_EQ(Fetch(*session, {7, 1}, "take"), 1);
  cluster_.Lose(kMaster, kPs);
  EXPECT_EQ(Fetch(*session, {7, 1}, "take"), -1);
  EXPECT_EQ(Fetch(*NewSession(), {7, 1}, "take"), 1);
  EXPECT_EQ(Now("size"), 1);
}

// Both attempts run when the element comes.
TEST_P(RepeatedActsTest, ThatWaitAtTheSameTime) {
  auto first_session = NewSession(), second_session = NewSession();
  float first = 0, second = 0;
  std::thread first_attempt([&] { first = Fetch(*first_session, {7, 1}, "take"); });
  AwaitRunning(1);
  std::thread second_attempt([&] { second = Fetch(*second_session, {7, 1}, "take"); });
  AwaitRunning(2);
  ASSERT_EQ(Put(5), OkStatus());
  first_attempt.join();
  second_attempt.join();
  EXPECT_EQ(first, 5);
  EXPECT_EQ(second, 5);
  EXPECT_EQ(Now("size"), 0);
}

// The attempt that waits is over before the element comes; the one that waited for it takes its place.
TEST_P(RepeatedActsTest, ThatTakeThePlaceOfOthers) {
  auto first_session = NewSession(), second_session = NewSession();
  Status first;
  float second = 0;
  std::thread first_attempt([&] { first = Run(*first_session, {7, 1}, "take", 1, /*timeout_ms=*/500); });
  AwaitRunning(1);
  std::thread second_attempt([&] { second = Fetch(*second_session, {7, 1}, "take"); });
  first_attempt.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(first)) << first;
  ASSERT_EQ(Put(5), OkStatus());
  second_attempt.join();
  EXPECT_EQ(second, 5);
  EXPECT_EQ(Now("size"), 0);
}

TEST_P(RepeatedActsTest, ThatWaitForOthersCanBeCancelled) {
  auto first_session = NewSession();
  float first = 0;
  std::thread first_attempt([&] { first = Fetch(*first_session, {7, 1}, "take"); });
  AwaitRunning(1);
  const Status second = Run(*NewSession(), {7, 1}, "take", 1, /*timeout_ms=*/100);
  EXPECT_TRUE(absl::IsDeadlineExceeded(second)) << second;
  ASSERT_EQ(Put(5), OkStatus());
  first_attempt.join();
  EXPECT_EQ(first, 5);
}

// Two of three elements were put when the step was cut short.
TEST_P(RepeatedActsTest, ThatPutInPart) {
  const Status status = Run(*NewSession(), {7, 1}, "put_three", 1, /*timeout_ms=*/200);
  ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(Now("size"), 2);
  EXPECT_EQ(Now("take"), 1);
  EXPECT_EQ(Run(*NewSession(), {7, 1}, "put_three"), OkStatus());
  EXPECT_EQ(Now("take"), 2);
  EXPECT_EQ(Now("take"), 3);
  EXPECT_EQ(Now("size"), 0);
}

TEST_P(RepeatedActsTest, ThatCouldNotTakeEnough) {
  ASSERT_EQ(Put(1), OkStatus());
  const Status status = Run(*NewSession(), {7, 1}, "take_two", 1, /*timeout_ms=*/200);
  ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  ASSERT_EQ(Put(2), OkStatus());
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_EQ(Fetch(*NewSession(), {7, 1}, "take_two"), 1);
  EXPECT_EQ(Now("size"), 0);
}

TEST_P(RepeatedActsTest, Close) {
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_EQ(Run(*NewSession(), {7, 1}, "close"), OkStatus());
}

TEST_P(RepeatedActsTest, PushGradientsOnce) {
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Run(*NewSession(), {7, 1}, "push", 2), OkStatus());
  EXPECT_EQ(Now("pushed"), 1);
  EXPECT_EQ(Run(*NewSession(), {8, 1}, "push", 4), OkStatus());
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(Fetch(*NewSession(), {9, 1}, "mean"), 3);
}

// The session that repeats a take has set the accumulator back to where the step began.
TEST_P(RepeatedActsTest, LeaveTheStepOfTheAccumulator) {
  ASSERT_EQ(Run(*NewSession(), {7, 1}, "push", 2), OkStatus());
  EXPECT_EQ(Fetch(*NewSession(), {9, 1}, "mean"), 2);
  ASSERT_EQ(Run(*NewSession(), {}, "begin"), OkStatus());
  EXPECT_EQ(Fetch(*NewSession(), {9, 1}, "mean"), 2);
  ASSERT_EQ(Run(*NewSession(), {7, 2}, "push", 2), OkStatus());  // of a step that is over
  EXPECT_EQ(Now("pushed"), 0);
}

INSTANTIATE_TEST_SUITE_P(Queues, RepeatedActsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Resources" : "References"; });

}  // namespace
}  // namespace millstream
