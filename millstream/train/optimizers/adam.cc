// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/adam.h"

#include <algorithm>

#include "millstream/train/operators/operators.h"

namespace millstream {

void AdamOptimizer::CreateSlots(const Scope& scope, const std::vector<GraphVariable>& variables) {
  const GraphVariable& first = *std::min_element(
      variables.begin(), variables.end(),
      [](const GraphVariable& a, const GraphVariable& b) { return a.handle.node->name() < b.handle.node->name(); });
  MakeNonSlot(scope, "beta1_power", options_.beta1, first);
  MakeNonSlot(scope, "beta2_power", options_.beta2, first);
  for (const GraphVariable& v : variables) {
    MakeSlot(scope, v, "m", name(), ZerosInitializer());
    MakeSlot(scope, v, "v", name(), ZerosInitializer());
  }
}

void AdamOptimizer::Prepare(const Scope& scope) {
  rate_ = learning_rate_.ToOutput(scope, "learning_rate");
  beta1_ = Hyperparameter(options_.beta1).ToOutput(scope, "beta1");
  beta2_ = Hyperparameter(options_.beta2).ToOutput(scope, "beta2");
  epsilon_ = Hyperparameter(options_.epsilon).ToOutput(scope, "epsilon");
}

Output AdamOptimizer::Power(const Scope& scope, const char* name, const GraphVariable& v) const {
  return CastTo(scope, UseVariable(scope, NonSlot(name)), TypeOf(v));
}

Node* AdamOptimizer::ApplyDense(const Scope& scope, Output gradient, const GraphVariable& v) {
  const DType dtype = TypeOf(v);
  return scope.Add(IsResource(v) ? "ResourceApplyAdam" : "ApplyAdam",
                   {v.handle, Slot(v, "m").handle, Slot(v, "v").handle, Power(scope, "beta1_power", v),
                    Power(scope, "beta2_power", v), CastTo(scope, rate_, dtype), CastTo(scope, beta1_, dtype),
                    CastTo(scope, beta2_, dtype), CastTo(scope, epsilon_, dtype), gradient},
                   {{"use_locking", use_locking()}});
}

// moment = moment * decay, then rows are added; gives the new moment.
Output AdamOptimizer::DecayAndAdd(const Scope& scope, const GraphVariable& moment, Output decay, Output indices,
                                  Output rows) const {
  const Output decayed = AssignVariable(scope, moment, operators::Mul(scope, moment, decay), use_locking());
  if (!scope.ok()) return {};
  const Scope after = scope.WithControlDependencies({decayed.node});
  if (!IsResource(moment))
    return after.Op("ScatterAdd", {moment.handle, indices, rows}, {{"use_locking", use_locking()}});
  Node* added = after.Add("ResourceScatterAdd", {moment.handle, indices, rows});
  return UseVariable(after.WithControlDependencies({added}), moment);
}

Node* AdamOptimizer::ApplySparse(const Scope& s, Output values, Output indices, const GraphVariable& v) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const DType dtype = TypeOf(v);
  const Output power1 = Power(s, "beta1_power", v), power2 = Power(s, "beta2_power", v);
  const Output learning_rate = CastTo(s, rate_, dtype);
  const Output beta1 = CastTo(s, beta1_, dtype), beta2 = CastTo(s, beta2_, dtype);
  const Output epsilon = CastTo(s, epsilon_, dtype);
  const Output unbias2 = s.Op("Sqrt", {Sub(s, 1, power2)});
  const Output scaled_rate = Mul(s, learning_rate, unbias2);
  const Output rate = Div(s, scaled_rate, Sub(s, 1, power1));
  const Output rows = Mul(s, values, Sub(s, 1, beta1));
  const Output m = DecayAndAdd(s, Slot(v, "m"), beta1, indices, rows);
  const Output squares = Mul(s, values, values);
  const Output second = DecayAndAdd(s, Slot(v, "v"), beta2, indices, Mul(s, squares, Sub(s, 1, beta2)));
  const Output root = s.Op("Sqrt", {second});
  const Output step = Mul(s, rate, m);
  const Output update = SubtractFromVariable(s, v, Div(s, step, Add(s, root, epsilon)), use_locking());
  return Group(s, {update.node, m.node, second.node});
}

Node* AdamOptimizer::Finish(const Scope& scope, const std::vector<Node*>& updates, absl::string_view name) {
  std::vector<Node*> all = updates;
  const Scope after = scope.WithControlDependencies(updates).ColocateWith(NonSlot("beta1_power").handle.node);
  for (const auto& [power, beta] : {std::pair("beta1_power", beta1_), std::pair("beta2_power", beta2_)}) {
    const GraphVariable v = NonSlot(power);
    all.push_back(AssignVariable(after, v, operators::Mul(after, v, beta), use_locking()).node);
  }
  return Group(scope, all, name);
}

}  // namespace millstream
