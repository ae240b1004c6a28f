// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/master/master_session.h"

#include <gtest/gtest.h>

#include <thread>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {
namespace {

using testing::DirectCluster;

constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1";

class MasterSessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<MasterSession> SessionFor(const Scope& scope, const proto::ConfigProto& config = {}) {
    EXPECT_TRUE(scope.ok()) << scope.status();
    auto session = cluster_.NewSession(config);
    const Status extended = session->Extend(*scope.graph());
    EXPECT_TRUE(extended.ok()) << extended;
    return session;
  }

  DirectCluster cluster_{{kWorker, kPs0, kPs1}};
  Scope root_ = Scope::Root();
  Scope ps0_ = root_.WithDevice("/job:ps/task:0");
  Scope ps1_ = root_.WithDevice("/job:ps/task:1");
};

Output Placeholder(const Scope& s, const char* name, DType dtype = DType::kFloat) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", dtype}});
}

TEST_F(MasterSessionTest, FeedsAndFetchesOverThreeTasks) {
  Output x = Placeholder(root_, "x");
  Output a = ps0_.WithOpName("a").Op("Square", {x});
  Output b = ps1_.WithOpName("b").Op("Neg", {a});
  root_.WithOpName("c").Op("Add", {b, x});
  auto session = SessionFor(root_);
  for (int i = 1; i <= 20; ++i) {
    std::vector<Tensor> out;
    const auto v = static_cast<float>(i);
    const Status status = session->Run({{"x:0", Tensor::Scalar(v)}}, {"c:0", "a:0", "x:0", "b:0"}, {}, &out);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(out.size(), 4u);
    EXPECT_EQ(out[0].scalar<float>(), v - v * v);
    EXPECT_EQ(out[1].scalar<float>(), v * v);
    EXPECT_EQ(out[2].scalar<float>(), v);
    EXPECT_EQ(out[3].scalar<float>(), -v * v);
  }
}

TEST_F(MasterSessionTest, LargeTensorsAndStringsTravel) {
  Output x = Placeholder(root_, "x");
  Output s = Placeholder(root_, "s", DType::kString);
  ps0_.WithOpName("y").Op("Neg", {ps1_.Op("Neg", {x})});
  ps0_.WithOpName("t").Op("Identity", {ps1_.Op("Identity", {s})});
  auto session = SessionFor(root_);
  Tensor big(DType::kFloat, Shape({1000, 100}));
  for (int i = 0; i < 100'000; ++i) big.data<float>()[i] = static_cast<float>(i);
  Tensor words(DType::kString, Shape({3}));
  words.data<std::string>()[0] = std::string(100'000, 'x');
  words.data<std::string>()[2] = "z";
  std::vector<Tensor> out;
  const Status status = session->Run({{"x:0", big}, {"s:0", words}}, {"y:0", "t:0"}, {}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].data<float>()[99'999], 99'999.f);
  EXPECT_EQ(out[1].data<std::string>()[0].size(), 100'000u);
  EXPECT_EQ(out[1].data<std::string>()[2], "z");
}

TEST_F(MasterSessionTest, ListsOfAnySizeAreFedAndFetched) {
  Output x = Placeholder(root_, "x");
  Output list = Placeholder(root_, "list", DType::kVariant);
  const Output any = root_.Const(-1);
  ps0_.WithOpName("made").Op("TensorListFromTensor", {x, any});
  ps0_.WithOpName("rows").Op("TensorListStack", {list, any}, {{"element_dtype", DType::kFloat}});
  auto session = SessionFor(root_);
  for (const int64_t size : {2, 2000}) {
    Tensor rows(DType::kFloat, Shape({1, size}));
    for (int64_t i = 0; i < size; ++i) rows.data<float>()[i] = static_cast<float>(i);
    std::vector<Tensor> made, out;
    Status status = session->Run({{"x:0", rows}}, {"made:0"}, {}, &made);
    ASSERT_TRUE(status.ok()) << status;
    status = session->Run({{"list:0", made[0]}}, {"rows:0"}, {}, &out);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(out[0].shape(), rows.shape());
    EXPECT_EQ(out[0].data<float>()[size - 1], static_cast<float>(size - 1));
  }
}

TEST_F(MasterSessionTest, SessionsShareVariablesUnlessIsolated) {
  Output v = ps0_.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
  Output one = root_.Const(1.f);
  root_.WithOpName("init").Op("Assign", {v, one});
  root_.WithOpName("add").Op("AssignAdd", {v, one});
  auto a = SessionFor(root_);
  auto b = SessionFor(root_);
  proto::ConfigProto isolated;
  isolated.set_isolate_session_state(true);
  auto c = SessionFor(root_, isolated);
  std::vector<Tensor> out;
  ASSERT_TRUE(a->Run({}, {}, {"init"}, nullptr).ok());
  ASSERT_TRUE(b->Run({}, {}, {"add"}, nullptr).ok());
  ASSERT_TRUE(a->Run({}, {"v:0"}, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 2.f);
  const Status status = c->Run({}, {"v:0"}, {}, &out);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("From /job:ps/replica:0/task:0:\n"), absl::string_view::npos) << status;
}

TEST_F(MasterSessionTest, LoopsAndBranchesSpanTasks) {
  const auto vars = WhileLoop(
      root_,
      [](const Scope& s, const std::vector<Output>& v) {
        return s.Op("Less", {v[0], s.Const(10)});
      },
      [](const Scope& s, const std::vector<Output>& v) {
        const Scope remote = s.WithDevice("/job:ps/task:0");
        return std::vector<Output>{s.Op("Add", {v[0], s.Const(1)}), remote.Op("Add", {v[1], v[0]})};
      },
      {root_.Const(0), root_.Const(0)});
  root_.WithOpName("sum").Op("Identity", {vars[1]});
  Output p = Placeholder(root_, "p", DType::kBool);
  const auto branch = Cond(
      root_, p,
      [&](const Scope& s) { return std::vector<Output>{s.WithDevice("/job:ps/task:1").Op("Neg", {s.Const(5)})}; },
      [&](const Scope& s) { return std::vector<Output>{s.WithDevice("/job:ps/task:0").Op("Square", {s.Const(5)})}; });
  root_.WithOpName("chosen").Op("Identity", {branch[0]});
  auto session = SessionFor(root_);
  for (const bool take : {true, false, true}) {
    std::vector<Tensor> out;
    const Status status = session->Run({{"p:0", Tensor::Scalar(take)}}, {"sum:0", "chosen:0"}, {}, &out);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(out[0].scalar<int32_t>(), 45);
    EXPECT_EQ(out[1].scalar<int32_t>(), take ? -5 : 25);
  }
}

TEST_F(MasterSessionTest, AnErrorAnywhereEndsTheStepEverywhere) {
  Output x = Placeholder(root_, "x");
  Output checked = ps0_.WithOpName("check").Op("CheckNumerics", {x}, {{"message", "here"}});
  Output queue = ps1_.WithOpName("q").Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  Node* taken =
      ps1_.WithOpName("taken").Add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  root_.WithOpName("sum").Op("Add", {checked, Output(taken, 0)});
  auto session = SessionFor(root_);
  std::vector<Tensor> out;
  const Status status = session->Run({{"x:0", Tensor::Scalar(std::nanf(""))}}, {"sum:0"}, {}, &out);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find("{{node check}}"), absl::string_view::npos) << status;
  // The last part answers before it is taken off the list.
  for (int i = 0; i < 5000 && cluster_.worker(2).num_running() != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(cluster_.worker(2).num_running(), 0u);
}

TEST_F(MasterSessionTest, DeadlinesAndCallersCancelWhatWaitsElsewhere) {
  Output queue = ps0_.WithOpName("q").Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  ps0_.WithOpName("taken").Add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  auto session = SessionFor(root_);
  RunOptions options;
  options.timeout_ms = 50;
  EXPECT_TRUE(absl::IsDeadlineExceeded(session->Run(options, {}, {"taken:0"}, {}, nullptr, nullptr)));
  Cancellation cancellation;
  RunOptions cancelled;
  cancelled.cancellation = &cancellation;
  std::thread canceller([&] { cancellation.StartCancel(errors::Cancelled("enough")); });
  EXPECT_TRUE(absl::IsCancelled(session->Run(cancelled, {}, {"taken:0"}, {}, nullptr, nullptr)));
  canceller.join();
  std::thread closer([&] {
    while (cluster_.worker(1).num_running() == 0) std::this_thread::yield();
    EXPECT_TRUE(session->Close().ok());
  });
  EXPECT_TRUE(absl::IsCancelled(session->Run({}, {"taken:0"}, {}, nullptr)));
  closer.join();
  EXPECT_TRUE(absl::IsCancelled(session->Run({}, {"taken:0"}, {}, nullptr)));
  EXPECT_EQ(cluster_.worker(1).num_sessions(), 0u);
}

TEST_F(MasterSessionTest, ALostTaskFailsItsStepsAtOnceAndLaterOnes) {
  Output queue = ps0_.WithOpName("q").Op("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  Node* taken =
      ps0_.WithOpName("taken").Add("QueueDequeueV2", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  ps1_.WithOpName("far").Op("Neg", {Output(taken, 0)});
  ps1_.WithOpName("other").Const(7.f);
  auto session = SessionFor(root_);
  std::thread killer([&] {
    while (cluster_.worker(1).num_running() == 0) std::this_thread::yield();
    cluster_.Cut(1);
  });
  Status status = session->Run({}, {"far:0"}, {}, nullptr);
  killer.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find(kPs0), absl::string_view::npos) << status;
  status = session->Run({}, {"far:0"}, {}, nullptr);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  std::vector<Tensor> out;
  status = session->Run({}, {"other:0"}, {}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 7.f);
}

TEST_F(MasterSessionTest, RunsInParts) {
  Output a = Placeholder(root_, "a");
  Output b = Placeholder(root_, "b");
  Output x = ps0_.WithOpName("x").Op("Square", {a});
  ps1_.WithOpName("y").Op("Add", {x, b});
  auto session = SessionFor(root_);
  auto handle = session->PartialRunSetup({"a:0", "b:0"}, {"x:0", "y:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  Status status = session->PartialRun(*handle, {{"a:0", Tensor::Scalar(3.f)}}, {"x:0"}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 9.f);
  status = session->PartialRun(*handle, {{"b:0", Tensor::Scalar(1.f)}}, {"y:0"}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 10.f);
  // One that is never finished ends with its session.
  EXPECT_TRUE(session->PartialRunSetup({"a:0"}, {"x:0"}, {}).ok());
}

TEST_F(MasterSessionTest, CallablesAndTraces) {
  Output x = Placeholder(root_, "x");
  ps0_.WithOpName("y").Op("Square", {x});
  auto session = SessionFor(root_);
  auto handle = session->MakeCallable({"x:0"}, {"y:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  ASSERT_TRUE(session->RunCallable(*handle, {Tensor::Scalar(4.f)}, &out, {}, nullptr).ok());
  EXPECT_EQ(out[0].scalar<float>(), 16.f);
  EXPECT_TRUE(absl::IsInvalidArgument(session->RunCallable(*handle, {}, &out, {}, nullptr)));
  EXPECT_TRUE(session->ReleaseCallable(*handle).ok());
  EXPECT_FALSE(session->ReleaseCallable(*handle).ok());
  RunOptions traced;
  traced.full_trace = true;
  proto::RunMetadata metadata;
  ASSERT_TRUE(session->Run(traced, {{"x:0", Tensor::Scalar(4.f)}}, {"y:0"}, {}, &out, &metadata).ok());
  bool seen = false;
  for (const auto& device : metadata.step_stats().dev_stats()) {
    for (const auto& node : device.node_stats())
      seen |= node.node_name() == "y" && device.device() == absl::StrCat(kPs0, "/device:CPU:0");
  }
  EXPECT_TRUE(seen) << metadata.ShortDebugString();
}

TEST_F(MasterSessionTest, ShowsWhatRunsWhere) {
  Output x = Placeholder(root_, "x");
  ps0_.WithOpName("y").Op("Square", {x});
  root_.WithOpName("z").Op("Neg", {Output(root_.graph()->Find("y"), 0)});
  auto session = SessionFor(root_);
  RunOptions options;
  options.partition_graphs = true;
  proto::RunMetadata metadata;
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run(options, {{"x:0", Tensor::Scalar(4.f)}}, {"z:0"}, {}, &out, &metadata).ok());
  EXPECT_EQ(metadata.partition_graphs_size(), 2);
}

TEST_F(MasterSessionTest, ManyStepsAtOnce) {
  Output x = Placeholder(root_, "x");
  ps1_.WithOpName("z").Op("Neg", {ps0_.Op("Square", {x})});
  auto session = SessionFor(root_);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::vector<Tensor> out;
        const auto v = static_cast<float>(t * 1000 + i);
        if (!session->Run({{"x:0", Tensor::Scalar(v)}}, {"z:0"}, {}, &out).ok() || out[0].scalar<float>() != -v * v)
          ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace millstream
