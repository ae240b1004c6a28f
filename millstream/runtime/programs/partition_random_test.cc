// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/graph/passes/passes.h"
#include "millstream/runtime/testing/memory_cluster.h"
#include "millstream/runtime/testing/random_graph.h"

namespace millstream {
namespace {

void Place(const MemoryCluster& cluster, int tasks, RandomGraph* g) {
  const std::vector<int> task = g->TaskOfEachNode(tasks);
  for (const auto& node : g->scope().graph()->nodes()) node->set_assigned_device(cluster.DeviceOf(task[node->id()]));
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
