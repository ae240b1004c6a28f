// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/runtime/testing/memory_cluster.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;
using Outputs = std::vector<Output>;

// Puts nodes without a device on the given tasks in turn; what holds state stays on the first.
void PlaceInTurn(const MemoryCluster& cluster, int tasks, Graph* graph) {
  int turn = 0;
  for (const auto& node : graph->nodes()) {
    if (node != nullptr) node->set_assigned_device(cluster.DeviceOf(turn++ % tasks));
  }
}

bool TouchesState(const Node& node) {
  const auto is_state = [](const Output& o) {
    return o.dtype() == DType::kResource || IsRef(o.node->output_type(o.index));
  };
  for (const Output& in : node.inputs())
    if (is_state(in)) return true;
  for (const DType type : node.output_types())
    if (type == DType::kResource || IsRef(type)) return true;
  return false;
}

void KeepStateTogether(const MemoryCluster& cluster, Graph* graph) {
  for (const auto& node : graph->nodes())
    if (TouchesState(*node)) node->set_assigned_device(cluster.DeviceOf(0));
}

void PlaceOn(const MemoryCluster& cluster, int task, const Graph& graph) {
  for (const auto& node : graph.nodes()) node->set_assigned_device(cluster.DeviceOf(task));
}

void ExpectEqual(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].dtype(), b[i].dtype()) << i;
    ASSERT_EQ(a[i].shape(), b[i].shape()) << i;
    EXPECT_EQ(a[i].DebugString(), b[i].DebugString()) << i;
  }
}

// Runs a graph on one task and cut in several ways; expects the same results.
void ExpectSameWhenCut(const Scope& s, const MemoryCluster::Feeds& feeds, const Outputs& fetches) {
  ASSERT_TRUE(s.ok()) << s.status();
  for (const int threads : {0, 2}) {
    for (const bool rewrite : {false, true}) {
      MemoryCluster cluster({.tasks = 3, .threads = threads, .rewrite = rewrite, .timeout_ms = 20'000});
      PlaceOn(cluster, 0, *s.graph());
      auto whole = cluster.Run(*s.graph(), feeds, fetches);
      ASSERT_TRUE(whole.ok()) << whole.status();
      for (const int tasks : {2, 3}) {
        SCOPED_TRACE(absl::StrCat(threads, " threads, ", tasks, " tasks, rewrite ", rewrite));
        PlaceInTurn(cluster, tasks, s.graph().get());
        KeepStateTogether(cluster, s.graph().get());
        auto cut = cluster.Run(*s.graph(), feeds, fetches);
        ASSERT_TRUE(cut.ok()) << cut.status();
        EXPECT_GT(cluster.num_transfers(), 0);
        ExpectEqual(*whole, *cut);
      }
    }
  }
}

Output Input(const Scope& s) { return s.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", Shape()}}); }

// Loops n times; variable 0 is the counter.
Outputs Repeat(const Scope& s, Output n, Outputs vars, const std::function<Outputs(const Scope&, const Outputs&)>& body,
               int parallel = 10) {
  vars.insert(vars.begin(), s.Const<int32_t>(0));
  WhileOptions options;
  options.parallel_iterations = parallel;
  return WhileLoop(
      s,
      [n](const Scope& in, const Outputs& v) {
        return in.Op("Less", {v[0], n});
      },
      [&](const Scope& in, const Outputs& v) {
        Outputs next = body(in, Outputs(v.begin() + 1, v.end()));
        next.insert(next.begin(), in.Op("AddV2", {v[0], in.Const<int32_t>(1)}));
        return next;
      },
      vars, options);
}

TEST(PartitionRunTest, Diamond) {
  Scope s = Scope::Root();
  Output x = Input(s);
  Output left = s.Op("AddV2", {x, s.Const(1.0)});
  Output right = s.Op("Mul", {x, s.Const(3.0)});
  Output both = s.Op("Sub", {left, right});
  ExpectSameWhenCut(s, {{x, Tensor::Scalar(2.0)}}, {both, left, right, x});
}

TEST(PartitionRunTest, Loop) {
  for (const int parallel : {1, 2, 10}) {
    Scope s = Scope::Root();
    Output x = Input(s);
    Outputs r = Repeat(
        s, s.Const<int32_t>(50), {x, s.Const(1.0)},
        [&](const Scope& in, const Outputs& v) {
          return Outputs{in.Op("AddV2", {v[0], x}),
                         in.Op("Maximum", {in.Op("Neg", {v[1]}), in.Op("Minimum", {v[0], in.Const(9.0)})})};
        },
        parallel);
    ExpectSameWhenCut(s, {{x, Tensor::Scalar(2.0)}}, r);
  }
}

TEST(PartitionRunTest, NestedLoops) {
  for (const int parallel : {1, 10}) {
    Scope s = Scope::Root();
    Output x = Input(s);
    Outputs r = Repeat(
        s, s.Const<int32_t>(4), {x, s.Const(0.5)},
        [&](const Scope& in, const Outputs& v) {
          Outputs inner = Repeat(
              in, in.Const<int32_t>(3), {v[0]},
              [&](const Scope& in2, const Outputs& w) {
                return Outputs{in2.Op("AddV2", {w[0], in2.Op("Mul", {v[1], x})})};
              },
              parallel);
          return Outputs{inner[1], in.Op("Neg", {v[1]})};
        },
        parallel);
    ExpectSameWhenCut(s, {{x, Tensor::Scalar(2.0)}}, r);
  }
}

TEST(PartitionRunTest, LoopsThatEndAtOnceAndVariablesThatStay) {
  Scope s = Scope::Root();
  Output x = Input(s), n = s.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  Outputs r = Repeat(s, n, {x, x}, [&](const Scope& in, const Outputs& v) { return Outputs{x, in.Op("Neg", {v[0]})}; });
  ExpectSameWhenCut(s, {{x, Tensor::Scalar(2.0)}, {n, Tensor::Scalar<int32_t>(0)}}, r);
  ExpectSameWhenCut(s, {{x, Tensor::Scalar(2.0)}, {n, Tensor::Scalar<int32_t>(3)}}, r);
}

TEST(PartitionRunTest, ConstantsOfALoopAreSentOnce) {
  Scope s = Scope::Root();
  Output x = Input(s);
  Output constant = s.Op("Neg", {x});
  Output there;
  Outputs r = Repeat(s, s.Const<int32_t>(20), {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{there = in.Op("AddV2", {v[0], constant})};
  });
  MemoryCluster cluster({.tasks = 2});
  PlaceOn(cluster, 0, *s.graph());
  there.node->set_assigned_device(cluster.DeviceOf(1));
  auto cut = cluster.Run(*s.graph(), {{x, Tensor::Scalar(2.0)}}, r);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ((*cut)[1].scalar<double>(), 2.0 - 20 * 2.0);
  EXPECT_EQ(cluster.num_transfers(),
            1 + 3 * 21);  // the constant; condition, value and new value in each of 20 + 1 rounds
}

TEST(PartitionRunTest, Conds) {
  for (const double value : {-1.0, 1.0}) {
    Scope s = Scope::Root();
    Output x = Input(s);
    Output pred = s.Op("Less", {x, s.Const(0.0)});
    Outputs r = Cond(
        s, pred,
        [&](const Scope& in) {
          return Outputs{in.Op("Neg", {x}), in.Const(4.0)};
        },
        [&](const Scope& in) {
          return Cond(
              in, in.Op("Less", {x, in.Const(0.5)}),
              [&](const Scope& in2) {
                return Outputs{x, in2.Const(5.0)};
              },
              [&](const Scope& in2) {
                return Outputs{in2.Op("AddV2", {x, x}), in2.Op("Sub", {x, in2.Const(6.0)})};
              });
        });
    ASSERT_TRUE(s.ok()) << s.status();
    ExpectSameWhenCut(s, {{x, Tensor::Scalar(value)}}, {r[0], r[1], s.Op("Mul", {r[0], r[1]}), pred});
  }
}

TEST(PartitionRunTest, ConsumersOfABranchOnOtherTasks) {
  Scope s = Scope::Root();
  Output x = Input(s);
  Node* branch = s.Add("Switch", {x, s.Op("Less", {x, s.Const(0.0)})});
  Output yes = s.Op("Neg", {Output(branch, 1)}), no = s.Op("Exp", {Output(branch, 0)});
  Output after_yes = s.WithControlDependencies({yes.node}).Op("Abs", {x});
  Output after_branch = s.WithControlDependencies({branch}).Op("Abs", {x});
  ASSERT_TRUE(s.ok()) << s.status();
  for (const bool rewrite : {false, true}) {
    MemoryCluster cluster({.tasks = 3, .rewrite = rewrite});
    PlaceOn(cluster, 0, *s.graph());
    for (const Output& o : {yes, after_branch}) o.node->set_assigned_device(cluster.DeviceOf(1));
    for (const Output& o : {no, after_yes}) o.node->set_assigned_device(cluster.DeviceOf(2));
    const Tensor negative = Tensor::Scalar(-2.0);
    auto taken = cluster.Run(*s.graph(), {{x, negative}}, {yes, after_yes, after_branch});
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_EQ((*taken)[0].scalar<double>(), 2.0);
    // A node that waits for a dead one is dead; the Switch itself is not.
    for (const Output& dead : {no, Output(branch, 0)}) {
      const Status status = cluster.Run(*s.graph(), {{x, negative}}, {dead}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr("Retval[0] does not have value"));
    }
    const Tensor positive = Tensor::Scalar(2.0);
    EXPECT_FALSE(cluster.Run(*s.graph(), {{x, positive}}, {after_yes}).ok());
    EXPECT_TRUE(cluster.Run(*s.graph(), {{x, positive}}, {after_branch, no}).ok());
  }
}

TEST(PartitionRunTest, ControlEdgesOrderEffects) {
  Scope s = Scope::Root();
  Output v = s.Op("VariableV2", {}, {{"dtype", DType::kDouble}, {"shape", Shape()}, {"shared_name", "v"}});
  Output first = s.Op("Assign", {v, s.Const(1.0)});
  Output there = s.WithControlDependencies({first.node}).Op("Neg", {v});  // sees 1, on another task
  Output more = s.WithControlDependencies({there.node}).Op("AssignAdd", {v, s.Const(5.0)});
  Node* done = s.WithControlDependencies({more.node, there.node}).Add("NoOp", {});
  Output last = s.WithControlDependencies({done}).Op("Identity", {v});
  ASSERT_TRUE(s.ok()) << s.status();
  MemoryCluster cluster({.tasks = 3});
  for (int round = 0; round < 20; ++round) {
    PlaceOn(cluster, 0, *s.graph());
    auto whole = cluster.Run(*s.graph(), {}, {there, last});
    ASSERT_TRUE(whole.ok()) << whole.status();
    there.node->set_assigned_device(cluster.DeviceOf(1));
    done->set_assigned_device(cluster.DeviceOf(2));
    auto cut = cluster.Run(*s.graph(), {}, {last}, {done});
    ASSERT_TRUE(cut.ok()) << cut.status();
    EXPECT_EQ((*cut)[0].scalar<double>(), 6.0);
    EXPECT_EQ(cluster.num_parts(), 3);
  }
}

TEST(PartitionRunTest, LoopGradients) {
  Scope s = Scope::Root();
  Output x = Input(s);
  Outputs r = Repeat(s, s.Const<int32_t>(5), {x, s.Const(1.0)}, [&](const Scope& in, const Outputs& v) {
    Outputs branch = Cond(
        in, in.Op("Less", {v[1], in.Const(3.0)}),
        [&](const Scope& in2) {
          return Outputs{in2.Op("Mul", {v[0], x})};
        },
        [&](const Scope& in2) {
          return Outputs{in2.Op("AddV2", {v[0], v[0]})};
        });
    return Outputs{branch[0], in.Op("Mul", {in.Op("AddV2", {v[1], v[0]}), in.Const(0.5)})};
  });
  ASSERT_TRUE(s.ok()) << s.status();
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, {r[1], r[2]}, {x}, {}, &grads).ok());
  ExpectSameWhenCut(s, {{x, Tensor::Scalar(1.3)}}, {r[1], r[2], grads[0].dense});
}

TEST(PartitionRunTest, NestedLoopGradients) {
  Scope s = Scope::Root();
  Output x = Input(s);
  Outputs r = Repeat(s, s.Const<int32_t>(3), {x}, [&](const Scope& in, const Outputs& v) {
    Outputs inner = Repeat(in, in.Const<int32_t>(2), {v[0]}, [&](const Scope& in2, const Outputs& w) {
      return Outputs{in2.Op("Sub", {in2.Op("Mul", {w[0], x}), v[0]})};
    });
    return Outputs{inner[1]};
  });
  ASSERT_TRUE(s.ok()) << s.status();
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, {r[1]}, {x}, {}, &grads).ok());
  ExpectSameWhenCut(s, {{x, Tensor::Scalar(1.1)}}, {r[1], grads[0].dense});
}

TEST(PartitionRunTest, AnErrorEndsAllParts) {
  Scope s = Scope::Root();
  Output x = s.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  Output broken;
  Outputs r = Repeat(s, s.Const<int32_t>(1000), {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{broken = in.WithOpName("broken").Op(
                       "FloorDiv", {in.Const<int32_t>(7), in.Op("Sub", {v[0], in.Const<int32_t>(1)})})};
  });
  MemoryCluster cluster({.tasks = 3});
  ASSERT_TRUE(s.ok()) << s.status();
  PlaceInTurn(cluster, 3, s.graph().get());
  const Status status = cluster.Run(*s.graph(), {{x, Tensor::Scalar<int32_t>(1)}}, r).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node while/broken}}"));
}

#if defined(__SANITIZE_THREAD__)
constexpr int32_t kLong = 10'000;
#else
constexpr int32_t kLong = 100'000;
#endif

// Hundreds of thousands of transfers must not nest calls.
TEST(PartitionRunTest, LongLoopsNeedNoStack) {
  Scope s = Scope::Root();
  Output x = Input(s);
  Outputs r = Repeat(s, s.Const<int32_t>(kLong), {x}, [&](const Scope& in, const Outputs& v) {
    return Outputs{in.Op("AddV2", {v[0], in.Const(1.0)})};
  });
  ASSERT_TRUE(s.ok()) << s.status();
  for (const int threads : {1, 2}) {
    MemoryCluster cluster({.tasks = 2, .threads = threads});
    PlaceInTurn(cluster, 2, s.graph().get());
    auto cut = cluster.Run(*s.graph(), {{x, Tensor::Scalar(2.0)}}, r);
    ASSERT_TRUE(cut.ok()) << cut.status();
    EXPECT_EQ((*cut)[1].scalar<double>(), kLong + 2.0);
    EXPECT_GT(cluster.num_transfers(), 2 * kLong);
  }
}

}  // namespace
}  // namespace millstream
