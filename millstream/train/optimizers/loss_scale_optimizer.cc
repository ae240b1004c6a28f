// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/loss_scale_optimizer.h"

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

Output AllFinite(const Scope& scope, const std::vector<GradientAndVariable>& gradients) {
  std::vector<Output> each;
  for (const GradientAndVariable& g : gradients) {
    if (g.gradient.IsNone()) continue;
    const Output value = g.gradient.IsSparse() ? g.gradient.values : g.gradient.dense;
    each.push_back(operators::ReduceAll(scope, "All", scope.Op("IsFinite", {value})));
  }
  return operators::ReduceAll(scope, "All", scope.Op("Pack", each));
}

Node* Assign(const Scope& s, const GraphVariable& v, Output value) {
  return s.Add("AssignVariableOp", {v.handle, value});
}

// The result of a branch that only does something, as a Cond wants one.
std::vector<Output> Done(const Scope& s, Output pred, Node* node) {
  return {s.WithControlDependencies({node}).Op("Identity", {pred})};
}

// The end of both branches. Null after an error.
Output After(const Scope& s, Output pred, const std::function<Node*(const Scope&)>& if_true,
             const std::function<Node*(const Scope&)>& if_false) {
  const std::vector<Output> ends = Cond(
      s, pred, [&](const Scope& inside) { return Done(inside, pred, if_true(inside)); },
      [&](const Scope& inside) { return Done(inside, pred, if_false(inside)); });
  return ends.empty() ? Output() : ends[0];
}

Node* Nothing(const Scope& s) { return s.Add("NoOp", {}); }

Node* CountStep(const Scope& s, const GraphVariable& step) {
  if (!step) return Nothing(s);
  const Output one = s.Op("Cast", {s.Const<int64_t>(1)}, {{"DstT", RemoveRef(step.value.dtype())}});
  return IsResource(step) ? s.Add("AssignAddVariableOp", {step.handle, one}) : s.Add("AssignAdd", {step.handle, one});
}

}  // namespace

std::vector<GradientAndVariable> LossScaleOptimizer::ComputeGradients(const Scope& scope, Output loss,
                                                                      const ComputeGradientsOptions& options) {
  if (!loss || !MakeVariables(scope)) return wrapped().ComputeGradients(scope, loss, options);
  const Output scaled = operators::Mul(scope, loss, CastTo(scope, Scale(scope), loss.dtype()));
  std::vector<GradientAndVariable> gradients = wrapped().ComputeGradients(scope, scaled, options);
  if (!scope.ok()) return {};
  const Output by = operators::Div(scope, 1.0, Scale(scope));
  for (GradientAndVariable& g : gradients) {
    if (g.gradient.IsNone()) continue;
    Output& value = g.gradient.IsSparse() ? g.gradient.values : g.gradient.dense;
    value = operators::Mul(scope, value, CastTo(scope, by, value.dtype()));
  }
  return gradients;
}

Node* LossScaleOptimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                         const ApplyGradientsOptions& options) {
  if (!MakeVariables(scope)) return nullptr;
  ApplyGradientsOptions inner = options;
  if (inner.name.empty()) inner.name = name();
  if (!scale_.dynamic) return wrapped().ApplyGradients(scope, gradients, inner);
  const std::string outer = inner.name;
  inner.name += "-wrapped";
  const Output is_finite = AllFinite(scope, gradients);
  const Output updated = Update(scope, is_finite);
  const Output applied = After(
      scope, is_finite, [&](const Scope& s) { return wrapped().ApplyGradients(s, gradients, inner); },
      [&](const Scope& s) { return options.counts_skipped_steps ? CountStep(s, options.global_step) : Nothing(s); });
  return scope.ok() ? Group(scope, {applied.node, updated.node}, outer) : nullptr;
}

std::vector<GraphVariable> LossScaleOptimizer::Variables() const {
  std::vector<GraphVariable> all = wrapped().Variables();
  if (current_) all.insert(all.end(), {current_, good_steps_});
  return all;
}

bool LossScaleOptimizer::MakeVariables(const Scope& scope) {
  if (scale_.value < 1 || scale_.multiplier <= 0 || scale_.increment_period < 1) {
    scope.Fail(errors::InvalidArgument("A loss scale is at least 1, its multiplier and its period are positive"));
  }
  if (!scope.ok()) return false;
  if (!scale_.dynamic || current_) return true;
  VariableOptions options;
  options.trainable = false;
  options.resource = true;
  options.initial_constant = Tensor::Scalar(static_cast<float>(scale_.value));
  current_ = MakeVariable(scope, scope.UniqueName("current_loss_scale"), Shape(), options);
  options.dtype = DType::kInt64;
  options.initial_constant = Tensor::Scalar<int64_t>(0);
  good_steps_ = MakeVariable(scope, scope.UniqueName("good_steps"), Shape(), options);
  return scope.ok();
}

Output LossScaleOptimizer::Scale(const Scope& scope) {
  return scale_.dynamic ? UseVariable(scope, current_) : scope.Const(static_cast<float>(scale_.value));
}

Output LossScaleOptimizer::Update(const Scope& scope, Output is_finite) {
  return After(
      scope, is_finite, [this](const Scope& s) { return AfterFinite(s).node; },
      [this](const Scope& s) { return AfterOverflow(s); });
}

Output LossScaleOptimizer::AfterFinite(const Scope& s) const {
  const Output steps = operators::Add(s, UseVariable(s, good_steps_), 1);
  const Output enough = OpNamed(s, "", "GreaterEqual", {steps, static_cast<double>(scale_.increment_period)});
  return After(
      s, enough, [this](const Scope& inside) { return Grow(inside).node; },
      [this](const Scope& inside) {
        return inside.Add("AssignAddVariableOp", {good_steps_.handle, inside.Const(Tensor::Scalar<int64_t>(1))});
      });
}

// Not beyond the largest float.
Output LossScaleOptimizer::Grow(const Scope& s) const {
  const Output larger = operators::Mul(s, UseVariable(s, current_), scale_.multiplier);
  const Output grown = After(
      s, s.Op("IsFinite", {larger}), [&](const Scope& inside) { return Assign(inside, current_, larger); }, Nothing);
  if (!s.ok()) return {};
  return Output(Group(s, {grown.node, Assign(s, good_steps_, s.Const(Tensor::Scalar<int64_t>(0)))}));
}

Node* LossScaleOptimizer::AfterOverflow(const Scope& s) const {
  const Output smaller = operators::Div(s, UseVariable(s, current_), scale_.multiplier);
  const Output least = OpNamed(s, "", "Maximum", {smaller, 1.0});
  if (!s.ok()) return nullptr;
  Node* const reset = Assign(s, good_steps_, s.Const(Tensor::Scalar<int64_t>(0)));
  return Group(s, {reset, Assign(s, current_, least)});
}

}  // namespace millstream
