// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PLACEMENT_DEAD_VALUES_H_
#define MILLSTREAM_GRAPH_PLACEMENT_DEAD_VALUES_H_

#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/graph/control_flow.h"

namespace millstream {

// Which values may be dead: those between a Switch and the Merge that joins its branches again, and what comes out of a
// loop that such values enter. Says "may be" where a graph is too strange to tell. Within a loop the answer is about
// one iteration of a loop that runs. Linear in nodes and edges.
class DeadValues {
 public:
  // `order`: all nodes of the graph, producers first.
  DeadValues(const Graph& graph, const std::vector<Node*>& order, const ControlFlow& flow);

  bool MayBeDead(const Output& value) const {
    return unsure_ || IsSwitching(*value.node) || guards_of_[value.node->id()] != kLive;
  }
  // Its outputs may be dead though it is not.
  static bool IsSwitching(const Node& node);
  // As a whole: what its control edges say.
  bool MayBeDead(const Node& node) const { return unsure_ || guards_of_[node.id()] != kLive; }

 private:
  // A value exists if every predicate (node id, output) has the given side. Guards are numbered; equal ones have one
  // number.
  using Condition = std::tuple<int, int, int>;
  using Guard = std::vector<Condition>;  // sorted
  static constexpr int kLive = 0;        // no condition
  static constexpr int kUnknown = 1;     // too complicated
  struct Loop {
    int entrance = kLive;  // what all its Enters depend on
    int assumed = kLive;   // the same when an Exit was visited
    bool exited = false;
  };

  int Number(Guard guard);
  int Unite(int a, int b);
  int OfOutput(const Output& value);
  int OfInputs(const Node& node);
  int Join(int a, int b);
  int OfMerge(const Node& node);
  int OfExit(const Node& node, const ControlFlow& flow);
  int OfNode(const Node& node, const ControlFlow& flow);
  void CheckNext(int guard, const LoopFrame* frame);

  bool unsure_ = false;
  std::vector<Guard> guards_;
  absl::flat_hash_map<Guard, int> numbers_;
  absl::flat_hash_map<std::pair<int, int>, int> united_;
  std::vector<int> guards_of_;    // by node id
  std::vector<Output> original_;  // by node id: of an Identity, what it hands on
  absl::flat_hash_map<const LoopFrame*, Loop> loops_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PLACEMENT_DEAD_VALUES_H_
