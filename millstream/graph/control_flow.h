// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_CONTROL_FLOW_H_
#define MILLSTREAM_GRAPH_CONTROL_FLOW_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millstream/graph/node_kind.h"

namespace millstream {

bool IsConstantEnter(const Node& node);
bool IsLoopMerge(const Node& node);   // of a loop variable, not of branches
bool IsLoopSwitch(const Node& node);  // into the body or out of the loop

// One variable of a loop: enter -> merge -> switch -> body -> next -> merge; switch -> exits. `merge_switch` is null
// and `exits` is empty where the graph has none.
struct LoopVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* merge_switch = nullptr;
  Node* next = nullptr;
  std::vector<Node*> exits;
};

// A while loop of TensorFlow 1: all nodes between the Enters and the Exits of one frame name.
struct LoopFrame {
  std::string name;
  const LoopFrame* parent = nullptr;  // null: not in another loop
  Node* loop_cond = nullptr;
  int64_t parallel_iterations = 10;
  std::vector<Node*> constants;  // Enters of values that do not change
  std::vector<LoopVariable> variables;

  bool IsInside(const LoopFrame* other) const;  // this is `other`, or a loop in it; everything is inside null
};

// Which loop each node runs in. A snapshot: nodes added later are not known to it.
class ControlFlow {
 public:
  // InvalidArgument if loops are not well-formed: inputs from several frames, a Merge of an Enter and a NextIteration
  // of different loops, two LoopConds in one loop, an Exit outside of loops.
  static StatusOr<ControlFlow> Analyze(const Graph& graph);

  // The loop where the outputs of `node` are: the inner one for an Enter, the outer one for an Exit. Null for the root.
  const LoopFrame* frame(const Node* node) const {
    return static_cast<size_t>(node->id()) < frames_of_.size() ? frames_of_[node->id()] : nullptr;
  }
  const std::vector<std::unique_ptr<LoopFrame>>& frames() const { return frames_; }

 private:
  Status AddNode(Node* node);
  Status AddEnter(Node* node);
  Status FindVariables(const Graph& graph);
  LoopFrame* mutable_frame(const Node* node) { return frames_of_[node->id()]; }

  std::vector<std::unique_ptr<LoopFrame>> frames_;
  std::unordered_map<std::string, LoopFrame*> by_name_;
  std::vector<LoopFrame*> frames_of_;  // by node id
};

// Under which conditions of Switches a value exists, within one iteration of the loop that it is in.
class BranchGuards {
 public:
  // (predicate, side): the outermost first.
  using Guard = std::vector<std::pair<Output, int>>;
  const Guard& Of(const Output& value);

 private:
  const Guard& OfNode(const Node& node);
  Guard ComputeNode(const Node& node);

  std::unordered_map<const Node*, Guard> nodes_;
  std::unordered_map<Output, Guard, OutputHash> switched_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_CONTROL_FLOW_H_
