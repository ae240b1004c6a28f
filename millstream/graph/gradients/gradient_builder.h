// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_GRADIENTS_GRADIENT_BUILDER_H_
#define MILLSTREAM_GRAPH_GRADIENTS_GRADIENT_BUILDER_H_

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "millstream/graph/control_flow.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// One call of AddSymbolicGradients(): walks the graph backwards, a loop at a time. Seen from outside, a loop is one
// step from its Exits to its Enters, whose gradient is another loop; the body of that is a walk of its own through the
// body of the first.
class GradientBuilder {
 public:
  using Grads = std::unordered_map<Output, std::vector<Grad>, OutputHash>;

  // Where a walk goes on: the loop whose body it goes through (null: the root), and the scopes for new nodes: of the
  // gradient, and beside the nodes that are differentiated. They differ in loops only.
  struct Region {
    const LoopFrame* frame;
    Scope backward;
    Scope forward;
    bool body = false;  // the walk ends at the Enters and Switches of `frame`
  };

  // `scope` is the "gradients" scope itself.
  GradientBuilder(const Scope& scope, const GradientOptions& options);
  // Finds the loops, and which nodes are on a way from xs to ys.
  Status Prepare(const std::vector<Output>& ys, const std::vector<Output>& xs);
  // From what `grads` holds for `seeds` on, until nothing is left.
  Status Walk(const Region& region, const std::vector<Output>& seeds, Grads* grads);
  // The sum of all gradients that arrived at `output`; none if there are none. Keeps the sum in `grads`.
  Grad Sum(const Scope& scope, const Output& output, Grads* grads) const;

  const ControlFlow& flow() const { return flow_; }
  BranchGuards& guards() { return guards_; }
  // On a way from xs to ys, with a type that has gradients.
  bool Wanted(const Output& output) const { return Between(output.node) && IsDifferentiable(output.dtype()); }
  bool Between(const Node* node) const {
    return static_cast<size_t>(node->id()) < between_.size() && between_[node->id()];
  }
  const Scope& scope() const { return scope_; }

 private:
  struct Unit;
  Unit UnitOf(const Output& output) const;
  bool IsLeaf(const Region& region, const Node& node) const;
  std::vector<Output> InputsOf(const Region& region, const Unit& unit) const;
  std::vector<Unit> Order(const Region& region, const std::vector<Output>& seeds) const;
  Status Differentiate(const Region& region, Node* node, Grads* grads);
  Status CallGradient(GradContext& ctx);
  Status CheckGradient(const Node& node, int i, const Grad& grad) const;
  void Gate(const Scope& scope, std::vector<Grad>* grads) const;

  const Scope scope_;
  const GradientOptions& options_;
  std::string prefix_;  // of the scope around scope_
  ControlFlow flow_;
  BranchGuards guards_;
  std::vector<bool> between_;  // by node id
  std::unordered_set<const Node*> stop_;
};

// AddSymbolicGradients() with the scope for the new nodes itself, instead of one that gets "gradients" in it.
Status AddGradientsIn(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                      const std::vector<Output>& grad_ys, std::vector<Grad>* grads, const GradientOptions& options);

// The gradient of a whole loop: adds to `grads` what arrives at the values that enter it. REQUIRES: `grads` holds what
// arrived at its Exits.
Status WhileGradient(GradientBuilder& builder, const GradientBuilder::Region& region, const LoopFrame& loop,
                     GradientBuilder::Grads* grads);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_GRADIENTS_GRADIENT_BUILDER_H_
