// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "millstream/graph/control_flow_builders.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/runtime/testing/memory_cluster.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

// Builds graphs of arithmetic, branches and loops within each other, with control edges between neighbours.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    Output x = root_.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", Shape()}});
    Outputs values = {x, root_.Const(0.5), root_.Op("Neg", {x})};
    feeds_ = {{x, Tensor::Scalar(1.25)}};
    AddSome(root_, 4 + Below(8), 0, &values);
    for (int i = 0; i < 3; ++i) fetches_.push_back(Pick(values));
    fetches_.push_back(values.back());
  }

  const Scope& scope() const { return root_; }
  const MemoryCluster::Feeds& feeds() const { return feeds_; }
  const Outputs& fetches() const { return fetches_; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

 private:
  Output Pick(const Outputs& values) { return values[Below(static_cast<int>(values.size()))]; }

  // `values` come from here and from outside; new ones are appended.
  void AddSome(const Scope& s, int count, int depth, Outputs* values) {
    std::vector<Node*> here;  // may be waited for: not of another loop or branch
    for (int i = 0; i < count && s.ok(); ++i) {
      const int kind = Below(10);
      if (kind == 0 && depth < 3) {
        AddLoop(s, depth, values);
      } else if (kind <= 2 && depth < 3) {
        AddCond(s, depth, values);
      } else if (kind == 3) {
        values->push_back(s.Const(0.25 * Below(8)));
        here.push_back(values->back().node);
      } else {
        AddOp(s, here, values);
        here.push_back(values->back().node);
      }
    }
  }

  void AddOp(const Scope& s, const std::vector<Node*>& here, Outputs* values) {
    static constexpr const char* kBinary[] = {"AddV2", "Sub", "Maximum", "Minimum"};
    std::vector<Node*> after;
    if (!here.empty() && Below(3) == 0) after.push_back(here[Below(static_cast<int>(here.size()))]);
    const Scope in = s.WithControlDependencies(after);
    values->push_back(Below(4) == 0 ? in.Op("Identity", {Pick(*values)})
                                    : in.Op(kBinary[Below(4)], {Pick(*values), Pick(*values)}));
  }

  void AddCond(const Scope& s, int depth, Outputs* values) {
    const int results = 1 + Below(2);
    const auto branch = [&](const Scope& in) {
      Outputs inside = *values;
      AddSome(in, 1 + Below(4), depth + 1, &inside);
      Outputs out;
      for (int i = 0; i < results; ++i) out.push_back(i == 0 ? inside.back() : Pick(inside));
      return out;
    };
    Output pred = s.Op("Less", {Pick(*values), Pick(*values)});
    for (const Output& o : Cond(s, pred, branch, branch)) values->push_back(o);
  }

  void AddLoop(const Scope& s, int depth, Outputs* values) {
    static constexpr int kParallel[] = {1, 2, 10};
    WhileOptions options;
    options.parallel_iterations = kParallel[Below(3)];
    const int times = Below(5);
    const auto cond = [&](const Scope& in, const Outputs& v) {
      return in.Op("Less", {v[0], in.Const<int32_t>(times)});
    };
    const auto body = [&](const Scope& in, const Outputs& v) {
      Outputs inside = *values;
      inside.insert(inside.end(), v.begin() + 1, v.end());
      AddSome(in, 2 + Below(4), depth + 1, &inside);
      // What comes from outside must pass something inside, or it would go on for ever.
      const auto next = [&](const Output& o) { return in.Op("Maximum", {o, in.Op("Minimum", {v[1], in.Const(2.0)})}); };
      return Outputs{in.Op("AddV2", {v[0], in.Const<int32_t>(1)}), next(inside.back()), next(Pick(inside))};
    };
    const Outputs r = WhileLoop(s, cond, body, {s.Const<int32_t>(0), Pick(*values), Pick(*values)}, options);
    for (size_t i = 1; i < r.size(); ++i) values->push_back(r[i]);
  }

  std::mt19937 random_;
  const Scope root_ = Scope::Root();
  MemoryCluster::Feeds feeds_;
  Outputs fetches_;
};

void Place(const MemoryCluster& cluster, int tasks, RandomGraph* g) {
  // Mostly in runs, as people place graphs; sometimes each node by itself.
  const int stay = 1 + g->Below(12);
  int task = 0;
  for (const auto& node : g->scope().graph()->nodes()) {
    if (g->Below(stay) == 0) task = g->Below(tasks);
    node->set_assigned_device(cluster.DeviceOf(task));
  }
}

TEST(PartitionRandomTest, CutGraphsGiveWhatWholeOnesGive) {
  int transfers = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph g(seed);
    ASSERT_TRUE(g.scope().ok()) << g.scope().status();
    const Graph& graph = *g.scope().graph();
    MemoryCluster cluster(
        {.tasks = 4, .threads = static_cast<int>(seed % 3), .rewrite = seed % 2 == 0, .timeout_ms = 20'000});
    Place(cluster, 1, &g);
    auto whole = cluster.Run(graph, g.feeds(), g.fetches());
    ASSERT_TRUE(whole.ok()) << whole.status();
    Place(cluster, 2 + g.Below(3), &g);
    auto cut = cluster.Run(graph, g.feeds(), g.fetches());
    ASSERT_TRUE(cut.ok()) << cut.status();
    transfers += cluster.num_transfers();
    for (size_t i = 0; i < whole->size(); ++i) ASSERT_EQ((*whole)[i].DebugString(), (*cut)[i].DebugString()) << i;
  }
  EXPECT_GT(transfers, 10'000);
}

// Edges put elsewhere make loops that nobody would build: those are cut, or refused with an error.
TEST(PartitionRandomTest, CutsOrRefusesStrangeGraphs) {
  MemoryCluster cluster({.tasks = 3, .threads = 0});
  int refused = 0, cut = 0;
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph g(seed);
    ASSERT_TRUE(g.scope().ok()) << g.scope().status();
    Graph& graph = *g.scope().graph();
    for (int changes = 1 + g.Below(3); changes > 0;) {
      Node* node = graph.nodes()[g.Below(graph.id_limit())].get();
      Node* other = graph.nodes()[g.Below(graph.id_limit())].get();
      if (g.Below(4) == 0) {
        graph.AddControlInput(node, other);
        --changes;
      } else if (node->num_inputs() > 0 && other->num_outputs() > 0) {
        const int i = g.Below(node->num_inputs());
        const Output to(other, g.Below(other->num_outputs()));
        if (to.dtype() != node->input(i).dtype()) continue;
        graph.SetInput(node, i, to);
        --changes;
      }
    }
    if (!graph.TopologicalOrder().ok()) continue;  // refused when it is imported
    Place(cluster, 3, &g);
    auto pruned = Prune(graph, {g.feeds()[0].first}, g.fetches(), {});
    ASSERT_TRUE(pruned.ok()) << pruned.status();
    auto parts = PartitionByTask(*std::move(pruned));
    ++(parts.ok() ? cut : refused);
    if (!parts.ok()) continue;
    for (GraphPart& part : parts->parts) EXPECT_TRUE(RewriteGraph({}, &part.graph).ok());
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(cut, 100);
}

}  // namespace
}  // namespace millstream
