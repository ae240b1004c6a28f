// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/distributed/testing/direct_cluster.h"
#include "millstream/runtime/testing/random_graph.h"

namespace millstream {
namespace {

StatusOr<std::vector<Tensor>> RunOnce(Session* session, const RandomGraph& g) {
  RETURN_IF_ERROR(session->Extend(*g.scope().graph()));
  Session::Feeds feeds;
  for (const auto& [output, value] : g.feeds()) feeds.emplace_back(output.name(), value);
  std::vector<std::string> fetches;
  for (const Output& output : g.fetches()) fetches.push_back(output.name());
  RunOptions options;
  options.timeout_ms = 30'000;
  std::vector<Tensor> results;
  RETURN_IF_ERROR(session->Run(options, feeds, fetches, {}, &results, nullptr));
  return results;
}

// Branches and loops over three tasks, placed at random, give what one process gives.
TEST(RandomGraphsTest, AClusterGivesWhatOneProcessGives) {
  testing::DirectCluster cluster({"/job:w/replica:0/task:0", "/job:w/replica:0/task:1", "/job:w/replica:0/task:2"});
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph g(seed);
    ASSERT_TRUE(g.scope().ok()) << g.scope().status();
    auto local = NewSession();
    ASSERT_TRUE(local.ok()) << local.status();
    auto whole = RunOnce(local->get(), g);
    ASSERT_TRUE(whole.ok()) << whole.status();
    const std::vector<int> task = g.TaskOfEachNode(3);
    for (const auto& node : g.scope().graph()->nodes())
      node->set_device(absl::StrCat("/job:w/task:", task[node->id()]));
    auto session = cluster.NewSession();
    auto cut = RunOnce(session.get(), g);
    ASSERT_TRUE(cut.ok()) << cut.status();
    for (size_t i = 0; i < whole->size(); ++i) ASSERT_EQ((*whole)[i].DebugString(), (*cut)[i].DebugString()) << i;
  }
}

}  // namespace
}  // namespace millstream
