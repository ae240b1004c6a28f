// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/adam.h"

#include <algorithm>

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
  const GraphVariable power = NonSlot(name);
  return CastTo(scope, IsResource(power) ? ReadVariable(scope, power) : power.value, TypeOf(v));
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
  const Output now = IsResource(moment) ? ReadVariable(scope, moment) : moment.value;
  const Output decayed = AssignVariable(scope, moment, scope.Op("Mul", {now, decay}), use_locking());
  const Scope after = scope.WithControlDependencies({decayed.node});
  if (!IsResource(moment))
    return after.Op("ScatterAdd", {moment.handle, indices, rows}, {{"use_locking", use_locking()}});
  return ReadVariable(scope.WithControlDependencies({after.Add("ResourceScatterAdd", {moment.handle, indices, rows})}),
                      moment);
}

Node* AdamOptimizer::ApplySparse(const Scope& scope, Output values, Output indices, const GraphVariable& v) {
  const DType dtype = TypeOf(v);
  const Output one = scope.Const(ScalarOf(dtype, 1));
  const auto op = [&scope](const char* type, Output a, Output b) { return scope.Op(type, {a, b}); };
  const Output beta1 = CastTo(scope, beta1_, dtype), beta2 = CastTo(scope, beta2_, dtype);
  const Output unbias2 = scope.Op("Sqrt", {op("Sub", one, Power(scope, "beta2_power", v))});
  const Output rate =
      op("RealDiv", op("Mul", CastTo(scope, rate_, dtype), unbias2), op("Sub", one, Power(scope, "beta1_power", v)));
  const Output m = DecayAndAdd(scope, Slot(v, "m"), beta1, indices, op("Mul", values, op("Sub", one, beta1)));
  const Output squares = op("Mul", op("Mul", values, values), op("Sub", one, beta2));
  const Output second = DecayAndAdd(scope, Slot(v, "v"), beta2, indices, squares);
  const Output divisor = op("AddV2", scope.Op("Sqrt", {second}), CastTo(scope, epsilon_, dtype));
  const Output update = SubtractFromVariable(scope, v, op("RealDiv", op("Mul", rate, m), divisor), use_locking());
  return Group(scope, {update.node, m.node, second.node});
}

Node* AdamOptimizer::Finish(const Scope& scope, const std::vector<Node*>& updates, absl::string_view name) {
  std::vector<Node*> all = updates;
  const Scope after = scope.WithControlDependencies(updates).ColocateWith(NonSlot("beta1_power").handle.node);
  for (const auto& [power, beta] : {std::pair("beta1_power", beta1_), std::pair("beta2_power", beta2_)}) {
    const GraphVariable v = NonSlot(power);
    const Output now = IsResource(v) ? ReadVariable(after, v) : v.value;
    all.push_back(AssignVariable(after, v, after.Op("Mul", {now, beta}), use_locking()).node);
  }
  return Group(scope, all, name);
}

}  // namespace millstream
