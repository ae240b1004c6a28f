// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PRUNE_H_
#define MILLSTREAM_GRAPH_PRUNE_H_

#include <memory>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

// The part of a graph that a signature needs, as a graph of its own.
struct PrunedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;     // an _Arg node for each feed
  std::vector<Output> rets;    // for each fetch
  std::vector<Node*> targets;  // nodes that must run though nobody reads them
};

// Keeps what `fetches` and `targets` depend on; a fed output cuts off what computed it. Names stay.
StatusOr<PrunedGraph> Prune(const Graph& graph, const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                            const std::vector<Node*>& targets);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PRUNE_H_
