// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "millstream/graph/scope.h"
#include "millstream/proto/config.pb.h"

namespace millstream {
namespace {

std::unique_ptr<Session> SessionFor(const Scope& scope, const SessionOptions& options = {}) {
  EXPECT_TRUE(scope.ok()) << scope.status();
  auto session = NewSession(options);
  EXPECT_TRUE(session.ok()) << session.status();
  const Status extended = (*session)->Extend(*scope.graph());
  EXPECT_TRUE(extended.ok()) << extended;
  return *std::move(session);
}

Output Placeholder(const Scope& s, const char* name) {
  return s.WithOpName(name).Op("Placeholder", {}, {{"dtype", DType::kFloat}});
}

TEST(SessionTest, FetchesConstantsAndFeeds) {
  Scope s = Scope::Root();
  Output c = s.WithOpName("c").Const(Tensor::Vector<float>({1, 2}));
  Output p = Placeholder(s, "p");
  s.WithOpName("pack").Op("Pack", {c, p});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({{"p:0", Tensor::Vector<float>({3, 4})}}, {"pack:0", "c", "p:0"}, {}, &out).ok());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].shape(), Shape({2, 2}));
  EXPECT_EQ(out[0].data<float>()[3], 4);
  EXPECT_EQ(out[1].data<float>()[1], 2);
  EXPECT_EQ(out[2].data<float>()[0], 3);
}

// As in TensorFlow, where "v/read" hands on the variable's own memory: who waits for an update sees it.
TEST(SessionTest, ReadersOfReferencesSeeUpdatesTheyWaitFor) {
  for (const bool rewrite : {true, false}) {
    Scope s = Scope::Root();
    Output v = s.WithOpName("v").Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape(Shape())}});
    s.WithOpName("init").Op("Assign", {v, s.Const(1.f)});
    Output read = s.WithOpName("read").Op("Identity", {v});
    Output add = s.Op("AssignAdd", {v, s.Const(1.f)});
    s.WithOpName("late").WithControlDependencies({add.node}).Op("Fill", {s.Const(Tensor::Vector<int32_t>({2})), read});
    SessionOptions options;
    if (!rewrite) options.rewrite = RewriteOptions::None();
    auto session = SessionFor(s, options);
    std::vector<Tensor> out;
    ASSERT_TRUE(session->Run({}, {}, {"init"}, nullptr).ok());
    ASSERT_TRUE(session->Run({}, {"late:0"}, {}, &out).ok());
    EXPECT_EQ(out[0].data<float>()[1], 2.f);
  }
}

// As on TensorFlow's threads; what surrounds the session keeps them.
TEST(SessionTest, DenormalNumbersAreZero) {
  Scope s = Scope::Root();
  s.WithOpName("small").Op("Mul", {Placeholder(s, "p"), s.Const(0.1f)});
  s.WithOpName("folded").Op("Mul", {s.Const(std::numeric_limits<float>::min()), s.Const(0.1f)});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  Tensor many = *Tensor::Make(DType::kFloat, Shape({1 << 16}));
  std::fill_n(many.data<float>(), many.num_elements(), std::numeric_limits<float>::min());
  ASSERT_TRUE(session->Run({{"p", many}}, {"small:0", "folded:0"}, {}, &out).ok());
  for (const float x : out[0].flat<float>()) ASSERT_EQ(x, 0.f);
  EXPECT_EQ(out[1].scalar<float>(), 0.f);
  volatile float smallest = std::numeric_limits<float>::min();
  EXPECT_GT(smallest * 0.1f, 0.f);
}

TEST(SessionTest, NamesWhatIsMissing) {
  Scope s = Scope::Root();
  Output p = Placeholder(s, "p");
  s.WithOpName("i").Op("Identity", {p});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  EXPECT_EQ(session->Run({}, {"zz:0"}, {}, &out).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session->Run({}, {}, {"zz"}, &out).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session->Run({{"zz:0", Tensor::Scalar(1.f)}}, {"i"}, {}, &out).code(), absl::StatusCode::kNotFound);
  const Status unfed = session->Run({}, {"i:0"}, {}, &out);
  EXPECT_EQ(unfed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(unfed.message().find("{{node p}}"), absl::string_view::npos) << unfed;
  EXPECT_EQ(session->Run({{"p", Tensor::Scalar(1.f)}, {"p:0", Tensor::Scalar(1.f)}}, {"i"}, {}, &out).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->Run({{"p", Tensor::Scalar<int32_t>(1)}}, {"i"}, {}, &out).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SessionTest, ExtendsAndCloses) {
  Scope s = Scope::Root();
  s.WithOpName("a").Const(1.f);
  auto session = SessionFor(s);
  s.WithOpName("b").Const(2.f);
  ASSERT_TRUE(session->Extend(*s.graph()).ok());
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({}, {"a", "b"}, {}, &out).ok());
  EXPECT_EQ(out[1].scalar<float>(), 2);
  ASSERT_TRUE(session->Close().ok());
  EXPECT_EQ(session->Run({}, {"a"}, {}, &out).code(), absl::StatusCode::kCancelled);
}

TEST(SessionTest, CallablesTakeAndGiveByPosition) {
  Scope s = Scope::Root();
  Output p = Placeholder(s, "p");
  s.WithOpName("i").Op("Identity", {p});
  auto session = SessionFor(s);
  auto handle = session->MakeCallable({"p:0"}, {"i:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  ASSERT_TRUE(session->RunCallable(*handle, {Tensor::Scalar(5.f)}, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 5);
  EXPECT_FALSE(session->RunCallable(*handle, {}, &out).ok());
  EXPECT_TRUE(session->ReleaseCallable(*handle).ok());
  EXPECT_FALSE(session->RunCallable(*handle, {Tensor::Scalar(5.f)}, &out).ok());
}

TEST(SessionTest, RunsAStepInParts) {
  Scope s = Scope::Root();
  Output a = Placeholder(s, "a"), b = Placeholder(s, "b");
  Output sum = s.WithOpName("sum").Op("AddV2", {a, s.Const(1.f)});
  s.WithOpName("product").Op("Mul", {sum, b});
  auto session = SessionFor(s);
  auto handle = session->PartialRunSetup({"a:0", "b:0"}, {"sum:0", "product:0"}, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  EXPECT_EQ(session->PartialRun(*handle, {}, {"sum:0"}, &out).code(), absl::StatusCode::kInvalidArgument);
  Status ran = session->PartialRun(*handle, {{"a:0", Tensor::Scalar(2.f)}}, {"sum:0"}, &out);
  ASSERT_TRUE(ran.ok()) << ran;
  EXPECT_EQ(out[0].scalar<float>(), 3);
  EXPECT_EQ(session->PartialRun(*handle, {{"a:0", Tensor::Scalar(2.f)}}, {}, &out).code(),
            absl::StatusCode::kInvalidArgument);
  // A second time is refused; the step goes on.
  ran = session->PartialRun(*handle, {}, {"sum:0"}, &out);
  EXPECT_EQ(ran, errors::InvalidArgument("The fetch sum:0 has already been fetched."));
  out.assign(1, Tensor::Scalar(3.f));
  ran = session->PartialRun(*handle, {{"b:0", Tensor::Scalar(out[0].scalar<float>() * 4)}}, {"product:0"}, &out);
  ASSERT_TRUE(ran.ok()) << ran;
  EXPECT_EQ(out[0].scalar<float>(), 36);
  // Over: the handle is gone.
  EXPECT_EQ(session->PartialRun(*handle, {}, {"sum:0"}, &out).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->PartialRunSetup({"a:0"}, {}, {}).status(),
            errors::InvalidArgument("Must specify at least one target to fetch or execute."));
  EXPECT_EQ(session->Run({}, {}, {}, &out).code(), absl::StatusCode::kInvalidArgument);
  // One that is never finished ends with the session.
  ASSERT_TRUE(session->PartialRunSetup({"a:0"}, {"sum:0"}, {}).ok());
}

TEST(SessionTest, PlacesOnlyWhatRunsIfAskedTo) {
  Scope s = Scope::Root();
  Output a = Placeholder(s.WithDevice("/device:GPU:7"), "a");
  s.WithDevice("/job:nobody/task:3").WithOpName("bad").Op("Neg", {a});
  s.WithOpName("good").Op("Square", {a});
  Output v = s.WithDevice("/cpu:1").WithOpName("v").Op("VariableV2", {},
                                                       {{"shape", PartialShape(Shape())}, {"dtype", DType::kFloat}});
  s.WithOpName("init").Op("Assign", {v, s.Const(4.f)});
  proto::ConfigProto config;
  (*config.mutable_device_count())["CPU"] = 2;
  auto strict = NewSession(SessionOptions::FromProto(config).value()).value();
  EXPECT_EQ(strict->Extend(*s.graph()).code(), absl::StatusCode::kInvalidArgument);
  config.mutable_graph_options()->set_place_pruned_graph(true);
  auto session = NewSession(SessionOptions::FromProto(config).value()).value();
  ASSERT_TRUE(session->Extend(*s.graph()).ok());
  std::vector<Tensor> out;
  Status status = session->Run({{"a:0", Tensor::Scalar(3.f)}}, {"good:0"}, {}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 9.f);
  status = session->Run({{"a:0", Tensor::Scalar(3.f)}}, {"bad:0"}, {}, &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("Cannot assign a device for operation bad"), absl::string_view::npos) << status;
  // A variable is at one place, whichever signature it is part of.
  ASSERT_TRUE(session->Run({}, {}, {"init"}, nullptr).ok());
  ASSERT_TRUE(session->Run({}, {"v:0"}, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 4.f);
}

TEST(SessionTest, DeadlinesAndCloseEndWaits) {
  Scope s = Scope::Root();
  Output queue = s.Op("FIFOQueueV2", {}, {{"component_types", AttrValue::DTypes{DType::kFloat}}});
  s.WithOpName("take").Add("QueueDequeueV2", {queue}, {{"component_types", AttrValue::DTypes{DType::kFloat}}});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  RunOptions options;
  options.timeout_ms = 20;
  EXPECT_EQ(session->Run(options, {}, {"take:0"}, {}, &out, nullptr).code(), absl::StatusCode::kDeadlineExceeded);
  Status waited;
  std::thread waiter([&] {
    std::vector<Tensor> none;
    waited = session->Run({}, {"take:0"}, {}, &none);
  });
  EXPECT_TRUE(session->Close().ok());
  waiter.join();
  EXPECT_EQ(waited.code(), absl::StatusCode::kCancelled) << waited;
}

TEST(SessionTest, NoUpdateOfAVariableIsLost) {
  Scope s = Scope::Root();
  Output v = s.Op("VariableV2", {}, {{"shape", PartialShape(std::vector<int64_t>{})}, {"dtype", DType::kFloat}});
  s.WithOpName("init").Add("Assign", {v, s.Const(0.f)});
  s.WithOpName("add").Add("AssignAdd", {v, s.Const(1.f)});
  s.WithOpName("read").Op("Identity", {v});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  EXPECT_EQ(session->Run({}, {"read:0"}, {}, &out).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(session->Run({}, {}, {"init"}, &out).ok());
  constexpr int kThreads = 4, kAdds = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<Tensor> none;
      for (int i = 0; i < kAdds; ++i) EXPECT_TRUE(session->Run({}, {"read:0"}, {"add"}, &none).ok());
    });
  }
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(session->Run({}, {"read:0"}, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), kThreads * kAdds);
}

// An op that reads one variable and changes another must not hold on to the one it changes.
TEST(SessionTest, UpdatesHappenInPlace) {
  Scope s = Scope::Root();
  const auto variable = [&](const char* name) {
    return s.WithOpName(name).Op("VariableV2", {}, {{"shape", PartialShape({64})}, {"dtype", DType::kFloat}});
  };
  Output v = variable("v"), delta = variable("delta");
  Output rate = s.Op("VariableV2", {}, {{"shape", PartialShape(std::vector<int64_t>{})}, {"dtype", DType::kFloat}});
  Tensor start(DType::kFloat, Shape({64}));
  std::fill_n(start.data<float>(), 64, 1.0f);
  Node* a = s.Add("Assign", {v, s.Const(start)});
  Node* b = s.Add("Assign", {delta, s.Const(start)});
  Node* c = s.Add("Assign", {rate, s.Const(0.5f)});
  s.WithOpName("init").WithControlDependencies({a, b, c}).Add("NoOp", {});
  s.WithOpName("step").Add("ApplyGradientDescent", {v, rate, delta});
  auto session = SessionFor(s);
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({}, {}, {"init"}, &out).ok());
  // The first update may move the value out of the buffer that it shares with the constant.
  ASSERT_TRUE(session->Run({}, {}, {"step"}, &out).ok());
  ASSERT_TRUE(session->Run({}, {"v:0"}, {}, &out).ok());
  const void* buffer = out[0].raw();
  out.clear();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session->Run({}, {}, {"step"}, &out).ok());
    ASSERT_TRUE(session->Run({}, {"v:0"}, {}, &out).ok());
    EXPECT_EQ(out[0].raw(), buffer);
    out.clear();
  }
}

TEST(SessionTest, RewritesKeepResults) {
  Scope s = Scope::Root();
  Output x = Placeholder(s, "x");
  Output w = s.Const(Tensor::Of<float>(Shape({2, 2}), {1, -2, 3, 4}));
  Output bias = s.Op("Mul", {s.Const(Tensor::Vector<float>({1, 2})), s.Const(1.f)});
  Output h = s.Op("Relu", {s.Op("BiasAdd", {s.Op("MatMul", {x, w}), bias})});
  Output twin = s.Op("Relu", {s.Op("BiasAdd", {s.Op("MatMul", {x, w}), bias})});
  s.WithOpName("y").Op("AddV2", {s.Op("Identity", {h}), s.Op("Neg", {s.Op("Neg", {twin})})});
  SessionOptions plain;
  plain.rewrite = RewriteOptions::None();
  std::vector<Tensor> rewritten, as_is;
  const Session::Feeds feeds = {{"x", Tensor::Of<float>(Shape({1, 2}), {0.5f, -1})}};
  ASSERT_TRUE(SessionFor(s)->Run(feeds, {"y:0"}, {}, &rewritten).ok());
  ASSERT_TRUE(SessionFor(s, plain)->Run(feeds, {"y:0"}, {}, &as_is).ok());
  EXPECT_EQ(rewritten[0].SummarizeValue(), as_is[0].SummarizeValue());
}

TEST(SessionTest, TracesEveryNode) {
  Scope s = Scope::Root();
  Output x = Placeholder(s, "x");
  s.WithOpName("y").Op("Square", {x});
  auto session = SessionFor(s);
  RunOptions options;
  options.full_trace = true;
  proto::RunMetadata metadata;
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run(options, {{"x", Tensor::Scalar(3.f)}}, {"y:0"}, {}, &out, &metadata).ok());
  ASSERT_EQ(metadata.step_stats().dev_stats_size(), 1);
  EXPECT_EQ(metadata.step_stats().dev_stats(0).node_stats(0).node_name(), "y");
}

}  // namespace
}  // namespace millstream
