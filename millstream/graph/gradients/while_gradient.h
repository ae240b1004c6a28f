// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_GRADIENTS_WHILE_GRADIENT_H_
#define MILLSTREAM_GRAPH_GRADIENTS_WHILE_GRADIENT_H_

#include <string>
#include <vector>

#include "millstream/graph/control_flow.h"
#include "millstream/graph/control_flow/loop_context.h"

namespace millstream {

// A loop that is differentiated: gets a counter of its iterations, and keeps values in lists. Lists are values with
// gradients of their own, so that the gradient of a loop is a loop that can be differentiated in turn.
class ForwardLoop : public LoopContext {
 public:
  ForwardLoop(const Scope& outside, const LoopFrame& loop, const ControlFlow& flow);
  // How often the body ran: a value outside.
  StatusOr<Output> AddCounter(BranchGuards& guards);
  bool Inside(const Output& value) const override {
    return LoopContext::Inside(value) || (flow_.frame(value.node) == &loop_);
  }
  // A list (outside) with one element for each iteration in which `value` exists. `home` is the node that it begins
  // with: all nodes that a list passes are on one device.
  struct Kept {
    Output list;
    Node* home = nullptr;
  };
  Kept Keep(Output value, const BranchGuards::Guard& guard);

 private:
  const LoopFrame& loop_;
  const ControlFlow& flow_;
  Scope start_;  // outside, where the loop is entered
};

// The loop that computes the gradient: one iteration for each of the other, in reverse. Values of the other loop are
// popped from lists when nodes want them.
class BackwardLoop : public LoopContext {
 public:
  // `forward_scope` adds to the body of `forward`.
  BackwardLoop(const Scope& outside, std::string frame_name, const LoopFrame& loop, ForwardLoop* forward,
               const Scope& forward_scope, BranchGuards* guards);
  // Opens the loop over `initial`, for `count` iterations.
  Status Open(Output count, const std::vector<Output>& initial, const std::vector<PartialShape>& shapes);
  // One more variable; returns its index.
  int AddVariable(Output initial, const PartialShape& shape);
  Output value(int i) const { return variables_[i].value(); }
  // Ends the body; the results are the final values, outside.
  Status Close(const Scope& inside, const std::vector<Output>& next, std::vector<Output>* results);

  Output Import(Output value) override;
  // Constants are made outside once. What only asks for the shape of a value of the other loop is asked there: then the
  // shape is kept, not the value.
  const Scope* Elsewhere(absl::string_view type, const std::vector<Output>& inputs) override;

 private:
  Output FromForward(Output value);
  Output Pop(Output value);
  // The value outside that `value` of the other loop always has; empty if it varies.
  Output Invariant(Output value) const;

  ForwardLoop* const forward_;
  const Scope forward_scope_;
  BranchGuards* const guards_;
  NewVariable counter_;
  Node* loop_cond_ = nullptr;
  std::vector<NewVariable> variables_;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_GRADIENTS_WHILE_GRADIENT_H_
