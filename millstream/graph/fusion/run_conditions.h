// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUSION_RUN_CONDITIONS_H_
#define MILLSTREAM_GRAPH_FUSION_RUN_CONDITIONS_H_

#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/graph/graph.h"

namespace millstream {

// What has to happen before each node of a graph runs, beside the work of kernels that never wait: a branch is taken,
// an iteration begins, a value arrives from another task, a queue has an element. Nodes with the same conditions become
// ready or dead together, so that none of them waits for anything new if they run as one. (Were it otherwise, a step
// could wait for itself: a value that another task needs before it sends what the rest of the group reads.)
class RunConditions {
 public:
  // REQUIRES: `order` is a topological order of the graph's nodes.
  RunConditions(const Graph& graph, const std::vector<Node*>& order);

  // The number of a set of conditions; equal sets have equal numbers.
  int Of(const Node& node) const { return set_of_[static_cast<size_t>(node.id())]; }

 private:
  enum class Kind { kNode, kBranch, kFrame, kLoop, kNone };
  using Condition = std::tuple<Kind, int, int>;
  using Set = std::vector<int>;  // conditions, in order
  // A merge at the start of a loop's iterations.
  struct LoopStart {
    const Node* merge;
    int enter = -1, next = -1;   // which inputs
    const Node* cond = nullptr;  // that decides whether there is a next iteration
    bool alone = false;          // the next value may be dead though the iteration begins
  };

  void FindLoops(const std::vector<Node*>& order);
  void AddInOrder(const std::vector<Node*>& order);
  bool AdjustLoops();
  int SetOfNode(const Node& node);
  int SetOfLoop(const LoopStart& loop);
  int SetOfInputs(const Node& node);
  int SetOf(const Output& output);
  bool MayWait(const Node& node);

  int Number(const Condition& condition);
  int Single(Kind kind, int a, int b = 0);
  int Intern(Set set);
  int Union(int a, int b);
  bool Includes(int set, int subset) const;

  std::vector<int> set_of_;  // by node id
  std::vector<LoopStart> loops_;
  absl::flat_hash_map<const Node*, size_t> loop_of_;  // by merge
  absl::flat_hash_map<const OpEntry*, bool> may_wait_;
  absl::flat_hash_map<std::string, int> frames_;
  absl::flat_hash_map<Condition, int> numbers_;
  std::vector<Condition> conditions_;
  std::vector<const Node*> predicates_;  // of the conditions that are branches
  std::vector<Set> sets_;
  absl::flat_hash_map<Set, int> set_numbers_;
  absl::flat_hash_map<std::pair<int, int>, int> unions_;
  size_t stored_ = 0;  // conditions in all sets
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUSION_RUN_CONDITIONS_H_
