// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_TESTING_RANDOM_GRAPH_H_
#define MILLSTREAM_RUNTIME_TESTING_RANDOM_GRAPH_H_

#include <random>
#include <utility>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

// Builds graphs of arithmetic, branches and loops within each other, with control edges between neighbours. The same
// seed gives the same graph.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed);

  const Scope& scope() const { return root_; }
  const std::vector<std::pair<Output, Tensor>>& feeds() const { return feeds_; }
  const std::vector<Output>& fetches() const { return fetches_; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  // A task for each node by id: mostly in runs, as people place graphs; sometimes each node by itself.
  std::vector<int> TaskOfEachNode(int tasks);

 private:
  using Outputs = std::vector<Output>;
  Output Pick(const Outputs& values) { return values[Below(static_cast<int>(values.size()))]; }
  // `values` come from here and from outside; new ones are appended.
  void AddSome(const Scope& s, int count, int depth, Outputs* values);
  void AddOp(const Scope& s, const std::vector<Node*>& here, Outputs* values);
  void AddCond(const Scope& s, int depth, Outputs* values);
  void AddLoop(const Scope& s, int depth, Outputs* values);

  std::mt19937 random_;
  const Scope root_ = Scope::Root();
  std::vector<std::pair<Output, Tensor>> feeds_;
  Outputs fetches_;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_TESTING_RANDOM_GRAPH_H_
