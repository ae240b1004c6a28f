// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_CONTROL_FLOW_LOOP_CONTEXT_H_
#define MILLSTREAM_GRAPH_CONTROL_FLOW_LOOP_CONTEXT_H_

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream {

// A loop variable that code adds to a loop, up to the value that its body sees. The back edge comes with
// CloseVariable().
struct NewVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* branch = nullptr;  // the Switch
  Output value() const { return Output(branch, 1); }
};

// The inside of one loop: what code needs that adds nodes to it.
class LoopContext : public FlowContext {
 public:
  // `outside` is where values come from and Exits go to.
  LoopContext(const Scope& outside, std::string frame_name, int64_t parallel_iterations);

  Output Import(Output value) override;
  Node* pivot() override { return pivot_; }
  void set_pivot(Node* node) { pivot_ = node; }
  void Added(Node* node) override { inside_.insert(node); }

  const Scope& outside() const { return outside_; }
  // Adds a node as it is: nothing is brought inside. Null after an error.
  Node* Raw(absl::string_view type, std::vector<Output> inputs, Attrs attrs = {}) const;
  // `value` of outside, the same in all iterations.
  Output EnterConstant(Output value);
  // Enter and Merge; then, once the loop has its LoopCond, the Switch.
  NewVariable OpenVariable(Output initial, const PartialShape& shape);
  void AddSwitch(Node* loop_cond, NewVariable* v);
  // Returns the NextIteration.
  Node* CloseVariable(const NewVariable& v, Output next);
  Output ExitOf(const NewVariable& v);

 protected:
  virtual bool Inside(const Output& value) const { return inside_.contains(value.node); }
  void WaitFor(Node* pivot, Node* node) const;

  const Scope outside_;
  const std::string frame_name_;
  const int64_t parallel_iterations_;
  Node* pivot_ = nullptr;
  std::unordered_set<const Node*> inside_;
  std::unordered_map<Output, Output, OutputHash> imported_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_CONTROL_FLOW_LOOP_CONTEXT_H_
