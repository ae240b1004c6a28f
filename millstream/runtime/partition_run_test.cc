// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/graph/control_flow_builders.h"
#include "millstream/graph/gradient.h"
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

}  // namespace
}  // namespace millstream
