// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/control_flow_gradients.h"

namespace millstream {
namespace {

Status LoopPart(GradContext& g) {
  return errors::InvalidArgument("'", g.node().name(), "' (op type: ", g.node().type(),
                                 ") is not part of a loop that can be differentiated");
}

}  // namespace

// The branch that was not taken contributes zeros, which must exist exactly when that branch is the one taken.
Status SwitchGrad(GradContext& g) {
  Output sides[2];
  for (int i = 0; i < 2; ++i) {
    if (g.has_dy(i)) {
      sides[i] = g.dy(i);
      continue;
    }
    Node* guard = g.Add("Switch", {ZerosFor(g.scope(), g.input(0)), g.input(1)});
    if (guard == nullptr) return g.status();
    sides[i] = Output(guard, i);
  }
  g.set_dx(0, g.Op("Merge", {sides[0], sides[1]}));
  return g.status();
}

// Sends the gradient the way the value came, which the second output of Merge tells.
Status MergeGrad(GradContext& g) {
  const Output came_from = g.output(1);
  const int n = g.node().num_inputs();
  if (n == 2) {
    Node* branch = g.Add("Switch", {g.dy(0), g.Op("Equal", {came_from, g.ConstLike(came_from, 1)})});
    if (branch == nullptr) return g.status();
    g.set_dx(0, Output(branch, 0));
    g.set_dx(1, Output(branch, 1));
    return OkStatus();
  }
  for (int i = 0; i < n; ++i) {
    Node* branch = g.Add("Switch", {g.dy(0), g.Op("Equal", {came_from, g.ConstLike(came_from, i)})});
    if (branch == nullptr) return g.status();
    g.set_dx(i, Output(branch, 1));
  }
  return OkStatus();
}

Status EnterGrad(GradContext& g) { return LoopPart(g); }
Status ExitGrad(GradContext& g) { return LoopPart(g); }
Status NextIterationGrad(GradContext& g) { return LoopPart(g); }

}  // namespace millstream
