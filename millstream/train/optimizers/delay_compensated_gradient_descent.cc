// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/delay_compensated_gradient_descent.h"

namespace millstream {
namespace {

Output Rows(const Scope& scope, const GraphVariable& v, Output indices) {
  if (IsResource(v)) return scope.Op("ResourceGather", {v.handle, indices}, {{"dtype", TypeOf(v)}});
  return scope.Op("GatherV2", {v.handle, indices, scope.Const<int32_t>(0)});
}

Node* Scatter(const Scope& scope, const char* op, const GraphVariable& v, Output indices, Output rows) {
  return scope.Add(absl::StrCat(IsResource(v) ? "Resource" : "", op), {v.handle, indices, rows});
}

}  // namespace

void DelayCompensatedGradientDescentOptimizer::CreateSlots(const Scope& scope,
                                                           const std::vector<GraphVariable>& variables) {
  if (options_.num_workers <= 0)
    scope.Fail(errors::InvalidArgument("num_workers must be positive: ", options_.num_workers));
  if (options_.worker_index < 0 || options_.worker_index >= options_.num_workers) {
    scope.Fail(errors::InvalidArgument("worker_index must be between 0 and ", options_.num_workers - 1, ": ",
                                       options_.worker_index));
  }
  for (int i = 0; i < options_.num_workers && scope.ok(); ++i) {
    for (const GraphVariable& v : variables) {
      const std::string slot = absl::StrCat("shadow_", i);
      MakeSlot(scope, v, slot, absl::StrCat(name(), "/", slot),
               [v](const Scope& s, DType, const Shape&) { return InitializedValue(s, v); });
    }
  }
}

void DelayCompensatedGradientDescentOptimizer::Prepare(const Scope& scope) {
  rate_ = learning_rate_.ToOutput(scope, "learning_rate");
  lambda_ = variance_parameter_.ToOutput(scope, "lambda");
}

GraphVariable DelayCompensatedGradientDescentOptimizer::Shadow(const GraphVariable& v) const {
  return Slot(v, absl::StrCat("shadow_", options_.worker_index));
}

Output DelayCompensatedGradientDescentOptimizer::Delta(const Scope& scope, Output gradient, Output now,
                                                       Output shadow) const {
  if (!scope.ok()) return {};
  const auto op = [&scope](const char* type, Output a, Output b) { return scope.Op(type, {a, b}); };
  const DType dtype = now.dtype();
  const Output squares = op("Mul", op("Mul", CastTo(scope, lambda_, dtype), gradient), gradient);
  return op("Mul", CastTo(scope, rate_, dtype), op("AddV2", gradient, op("Mul", squares, op("Sub", now, shadow))));
}

Node* DelayCompensatedGradientDescentOptimizer::ApplyDense(const Scope& scope, Output gradient,
                                                           const GraphVariable& v) {
  const GraphVariable shadow = Shadow(v);
  const Output delta = Delta(scope, gradient, ReadVariable(scope, v), ReadVariable(scope, shadow));
  return AssignVariable(scope, shadow, SubtractFromVariable(scope, v, delta, use_locking()), use_locking()).node;
}

Node* DelayCompensatedGradientDescentOptimizer::ApplySparse(const Scope& scope, Output values, Output indices,
                                                            const GraphVariable& v) {
  const GraphVariable shadow = Shadow(v);
  const Output now = Rows(scope, v, indices);
  const Output delta = Delta(scope, values, now, Rows(scope, shadow, indices));
  Node* changed = Scatter(scope, "ScatterSub", v, indices, delta);
  const Scope after = scope.WithControlDependencies({changed});
  return Scatter(after, "ScatterUpdate", shadow, indices, after.Op("Sub", {now, delta}));
}

}  // namespace millstream
