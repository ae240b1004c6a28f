// SPDX-License-Identifier: Apache-2.0
// Many steps at once, on more threads than there are cores. Worth most under the thread sanitizer.
#include <gtest/gtest.h>

#include <thread>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/runtime/session.h"

namespace millstream {
namespace {

constexpr int kThreads = 4;

SessionOptions ManyThreads() {
  SessionOptions options;
  options.inter_op_threads = 4;
  options.intra_op_threads = 2;
  options.rewrite = RewriteOptions::None();
  return options;
}

std::unique_ptr<Session> SessionFor(const Scope& scope) {
  EXPECT_TRUE(scope.ok()) << scope.status();
  auto session = NewSession(ManyThreads());
  EXPECT_TRUE((*session)->Extend(*scope.graph()).ok());
  return *std::move(session);
}

void OnThreads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { body(t); });
  for (std::thread& t : threads) t.join();
}

Tensor Filled(const Shape& shape, float value) {
  Tensor t(DType::kFloat, shape);
  std::fill_n(t.data<float>(), t.num_elements(), value);
  return t;
}

// sum over i of x * w_i, where each w_i is a variable that others change meanwhile by nothing.
TEST(StressTest, WideStepsOverSharedVariables) {
  constexpr int kWidth = 12;
  Scope s = Scope::Root();
  const Output x = s.WithOpName("x").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  std::vector<Output> products;
  std::vector<Node*> inits, updates;
  const Output zeros = s.Const(Filled(Shape({16, 16}), 0));
  for (int i = 0; i < kWidth; ++i) {
    const Output w = s.Op("VariableV2", {}, {{"shape", PartialShape({16, 16})}, {"dtype", DType::kFloat}});
    inits.push_back(s.Add("Assign", {w, s.Const(Filled(Shape({16, 16}), static_cast<float>(i)))}));
    products.push_back(s.Op("MatMul", {x, w}));
    updates.push_back(s.Add("AssignAdd", {w, zeros}, {{"use_locking", true}}));
  }
  s.WithOpName("sum").Op("AddN", products);
  s.WithOpName("init").WithControlDependencies(inits).Add("NoOp", {});
  s.WithOpName("update").WithControlDependencies(updates).Add("NoOp", {});
  auto session = SessionFor(s);
  ASSERT_TRUE(session->Run({}, {}, {"init"}, nullptr).ok());
  OnThreads([&](int t) {
    for (int i = 0; i < 50; ++i) {
      std::vector<Tensor> out;
      const float value = static_cast<float>(t + 1);
      ASSERT_TRUE(session->Run({{"x:0", Filled(Shape({2, 16}), value)}}, {"sum:0"}, {"update"}, &out).ok());
      EXPECT_EQ(out[0].data<float>()[5], value * 16 * 66);
    }
  });
}

// A loop whose iterations overlap, with a branch inside.
TEST(StressTest, LoopsWithBranches) {
  Scope s = Scope::Root();
  const Output n = s.WithOpName("n").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  const Output m = s.Const(Filled(Shape({8, 8}), 0.125f));
  const std::vector<Output> results = WhileLoop(
      s,
      [&](const Scope& b, const std::vector<Output>& v) {
        return b.Op("Less", {v[0], n});
      },
      [&](const Scope& b, const std::vector<Output>& v) {
        const Output even = b.Op("Equal", {b.Op("FloorMod", {v[0], b.Const(2.0f)}), b.Const(0.0f)});
        const std::vector<Output> chosen = Cond(
            b, even,
            [&](const Scope& c) {
              return std::vector<Output>{c.Op("MatMul", {v[1], m})};
            },
            [&](const Scope& c) {
              return std::vector<Output>{c.Op("AddV2", {v[1], c.Const(1.0f)})};
            });
        return std::vector<Output>{b.Op("AddV2", {v[0], b.Const(1.0f)}), chosen[0]};
      },
      {s.Const(0.0f), s.Const(Filled(Shape({8, 8}), 1))},
      {.shape_invariants = {PartialShape({}), PartialShape({8, 8})}});
  ASSERT_TRUE(s.ok()) << s.status();
  s.WithOpName("y").Op("Identity", {results[1]});
  auto session = SessionFor(s);
  OnThreads([&](int) {
    for (int i = 0; i < 20; ++i) {
      std::vector<Tensor> out;
      const Status ran = session->Run({{"n:0", Tensor::Scalar(static_cast<float>(2 * i))}}, {"y:0"}, {}, &out);
      ASSERT_TRUE(ran.ok()) << ran;
      EXPECT_FLOAT_EQ(out[0].data<float>()[9], 1.0f + static_cast<float>(i));
    }
  });
}

// The graph grows, plans are made and thrown away, steps fail, while others run.
TEST(StressTest, GraphsGrowWhileStepsRun) {
  Scope s = Scope::Root();
  const Output p = s.WithOpName("p").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  s.WithOpName("bad").Op("Reshape", {p, s.Constant({7})});
  s.WithOpName("y0").Op("AddV2", {p, s.Const(1.0f)});
  auto session = SessionFor(s);
  OnThreads([&](int t) {
    for (int i = 0; i < 30; ++i) {
      std::vector<Tensor> out;
      const Session::Feeds feeds = {{"p:0", Tensor::Scalar(1.0f)}};
      EXPECT_TRUE(session->Run(feeds, {"y0:0"}, {}, &out).ok());
      EXPECT_EQ(session->Run(feeds, {"bad:0"}, {}, &out).code(), absl::StatusCode::kInvalidArgument);
      auto handle = session->MakeCallable({"p:0"}, {"y0:0"}, {});
      ASSERT_TRUE(handle.ok());
      EXPECT_TRUE(session->RunCallable(*handle, {Tensor::Scalar(1.0f)}, &out).ok());
      EXPECT_TRUE(session->ReleaseCallable(*handle).ok());
      Scope more = Scope::Root();
      more.WithOpName(absl::StrCat("more_", t, "_", i)).Const(static_cast<float>(i));
      EXPECT_TRUE(session->Extend(*more.graph()).ok());
      EXPECT_TRUE(session->Run({}, {absl::StrCat("more_", t, "_", i)}, {}, &out).ok());
    }
  });
}

// Steps wait in a queue for each other; the session ends while some still wait.
TEST(StressTest, QueuesBetweenSteps) {
  Scope s = Scope::Root();
  const AttrValue types = AttrValue::DTypes{DType::kFloat};
  const Output queue =
      s.Op("FIFOQueueV2", {}, {{"component_types", types}, {"capacity", 3}, {"shared_name", std::string("q")}});
  const Output p = s.WithOpName("p").Op("Placeholder", {}, {{"dtype", DType::kFloat}});
  s.WithOpName("put").Add("QueueEnqueueV2", {queue, p});
  s.WithOpName("take").Add("QueueDequeueV2", {queue}, {{"component_types", types}});
  // A step that says that it has begun, and then waits.
  const Output beginnings =
      s.Op("FIFOQueueV2", {}, {{"component_types", types}, {"shared_name", std::string("began")}});
  Node* const announce = s.Add("QueueEnqueueV2", {beginnings, s.Const(1.0f)});
  s.WithOpName("began").Add("QueueDequeueV2", {beginnings}, {{"component_types", types}});
  s.WithOpName("announced_take")
      .WithControlDependencies({announce})
      .Add("QueueDequeueV2", {queue}, {{"component_types", types}});
  auto session = SessionFor(s);
  std::atomic<int> sum{0};
  OnThreads([&](int t) {
    for (int i = 0; i < 50; ++i) {
      std::vector<Tensor> out;
      if (t % 2 == 0) {
        EXPECT_TRUE(session->Run({{"p:0", Tensor::Scalar(1.0f)}}, {}, {"put"}, &out).ok());
      } else {
        ASSERT_TRUE(session->Run({}, {"take:0"}, {}, &out).ok());
        sum += static_cast<int>(out[0].scalar<float>());
      }
    }
  });
  EXPECT_EQ(sum, kThreads / 2 * 50);
  std::atomic<int> cancelled{0};
  std::thread closer([&] {
    for (int t = 0; t < kThreads; ++t) EXPECT_TRUE(session->Run({}, {}, {"began"}, nullptr).ok());
    EXPECT_TRUE(session->Close().ok());
  });
  OnThreads([&](int) {
    std::vector<Tensor> out;
    cancelled += absl::IsCancelled(session->Run({}, {"announced_take:0"}, {}, &out));
  });
  closer.join();
  EXPECT_EQ(cancelled, kThreads);
}

}  // namespace
}  // namespace millstream
