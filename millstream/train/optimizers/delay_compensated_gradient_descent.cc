// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/delay_compensated_gradient_descent.h"

#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

Output Rows(const Scope& scope, const GraphVariable& v, Output indices) {
  if (IsResource(v)) {
    const Output rows = scope.WithOpName("Gather").Op("ResourceGather", {v.handle, indices}, {{"dtype", TypeOf(v)}});
    return scope.Op("Identity", {rows});
  }
  return OpNamed(scope, "", "GatherV2", {v, indices, Tensor::Scalar<int32_t>(0)});
}

Node* Scatter(const Scope& scope, const char* op, const GraphVariable& v, Output indices, Output rows) {
  if (!IsResource(v)) return scope.Add(op, {v.handle, indices, rows});
  return ReadAfter(scope, v, scope.Add(absl::StrCat("Resource", op), {v.handle, indices, rows})).node;
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
      MakeSlot(scope, v, slot, absl::StrCat(name(), "/", slot), InitializedValue(scope, v));
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
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const DType dtype = now.dtype();
  const Output rate = CastTo(scope, rate_, dtype), lambda = CastTo(scope, lambda_, dtype);
  const Output squares = Mul(scope, Mul(scope, lambda, gradient), gradient);
  const Output correction = Mul(scope, squares, Sub(scope, now, shadow));
  return Mul(scope, rate, Add(scope, gradient, correction));
}

Node* DelayCompensatedGradientDescentOptimizer::ApplyDense(const Scope& scope, Output gradient,
                                                           const GraphVariable& v) {
  const GraphVariable shadow = Shadow(v);
  const Output now = ReadVariable(scope, v);
  const Output delta = Delta(scope, gradient, now, ReadVariable(scope, shadow));
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
