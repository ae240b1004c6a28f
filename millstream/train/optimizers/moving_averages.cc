// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/moving_averages.h"

#include <set>

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {
namespace {

GraphVariable MakeCounter(const Scope& scope, const GraphVariable& of, const char* name, const Shape& shape) {
  VariableOptions options;
  options.dtype = TypeOf(of);
  options.initializer = ZerosInitializer();
  options.trainable = false;
  options.resource = IsResource(of);
  return MakeVariable(scope, absl::StrCat(of.handle.node->name(), "/", name), shape, options);
}

// What to subtract from `unbiased`, so that it becomes the average of the values so far.
Output DebiasedDelta(const Scope& scope, const GraphVariable& unbiased, const Operand& value, Output rate) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const Scope s = scope.NameScope(unbiased.handle.node->name()).ColocateWith(unbiased.handle.node);
  const GraphVariable biased = MakeCounter(s, unbiased, "biased", unbiased.shape.ToShape());
  const GraphVariable local_step = MakeCounter(s, unbiased, "local_step", Shape());
  if (!s.ok()) return {};
  const Output sum = SubtractFromVariable(s, biased, Mul(s, Sub(s, biased, value), rate));
  const Output steps = IsResource(local_step)
                           ? AddToVariable(s, local_step, s.Const(ScalarOf(TypeOf(local_step), 1)))
                           : OpNamed(s, "", "AssignAdd", {local_step.handle, 1}, {{"use_locking", false}});
  const Output power = s.Op("Pow", {Sub(s, 1.0, rate), steps});
  const Output correction = Sub(s, 1, power);
  return Sub(s, unbiased, Div(s, sum, correction));
}

}  // namespace

Output AssignMovingAverage(const Scope& scope, const GraphVariable& variable, const Operand& value, Output decay,
                           bool zero_debias) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("AssignMovingAvg").ColocateWith(variable.handle.node);
  const Output rate = CastTo(s, Sub(s, 1.0, decay), TypeOf(variable));
  const Output delta = zero_debias ? DebiasedDelta(s, variable, value, rate) : Mul(s, Sub(s, variable, value), rate);
  return SubtractFromVariable(s.WithOpName(s.name_prefix()), variable, delta);
}

Output ExponentialMovingAverage::Decay(const Scope& s) const {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  const Output decay = s.WithOpName("decay").Const(static_cast<float>(decay_));
  if (!options_.num_updates) return decay;
  const Output n = s.WithOpName("num_updates").Op("Cast", {options_.num_updates}, {{"DstT", DType::kFloat}});
  const Output more = Add(s, 1.0, n);
  return s.Op("Minimum", {decay, Div(s, more, Add(s, 10.0, n))});
}

void ExponentialMovingAverage::MakeAverage(const Scope& scope, const GraphVariable& of, bool variable) {
  const std::string name = of.handle.node->name();
  if (!scope.ok() || averages_.contains(name)) return;
  if (!IsFloating(TypeOf(of))) {
    scope.Fail(errors::InvalidArgument("The variables must be half, float, or double: ", name));
    return;
  }
  const Scope outside = scope.WithContext(nullptr);
  if (!variable) {
    averages_[name] = MakeSlotVariable(outside, of, options_.name, ZerosInitializer(), /*colocate=*/false);
    return;
  }
  averages_[name] = MakeSlotVariable(outside, of, options_.name, InitializedValue(outside, of));
  scope.AddToCollection(graph_keys::kMovingAverageVariables, of.handle);
}

Node* ExponentialMovingAverage::Apply(const Scope& scope, const std::vector<GraphVariable>& variables,
                                      const std::vector<Output>& tensors) {
  std::vector<GraphVariable> all = variables;
  if (variables.empty() && tensors.empty()) all = VariablesIn(scope, graph_keys::kTrainableVariables);
  const size_t num_variables = all.size();
  for (const Output& t : tensors) all.push_back({.handle = t, .value = t, .shape = scope.ShapeOf(t)});
  std::set<std::string> debiased;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) scope.Fail(errors::InvalidArgument("cannot average an undefined tensor"));
    if (!scope.ok()) return nullptr;
    const std::string name = all[i].handle.node->name();
    if (i >= num_variables && options_.zero_debias && !averages_.contains(name)) debiased.insert(name);
    MakeAverage(scope, all[i], i < num_variables);
  }
  const Scope s = scope.NameScope(options_.name);
  const Output decay = Decay(s);
  std::vector<Node*> updates;
  for (size_t i = 0; i < all.size() && scope.ok(); ++i) {
    const std::string name = all[i].handle.node->name();
    const Operand value = i < num_variables ? Operand(all[i]) : Operand(all[i].value);
    updates.push_back(AssignMovingAverage(s, averages_.at(name), value, decay, debiased.contains(name)).node);
  }
  return scope.ok() ? Group(s, updates, s.name_prefix()) : nullptr;
}

GraphVariable ExponentialMovingAverage::Average(Output of) const {
  const auto found = of ? averages_.find(of.node->name()) : averages_.end();
  return found == averages_.end() ? GraphVariable() : found->second;
}

std::string ExponentialMovingAverage::AverageName(Output of) const {
  const GraphVariable average = Average(of);
  return average ? average.handle.node->name() : absl::StrCat(of.node->name(), "/", options_.name);
}

std::map<std::string, Output> ExponentialMovingAverage::VariablesToRestore(const Scope& scope) const {
  std::map<std::string, Output> names;
  std::set<std::string> averaged;
  for (const char* collection : {graph_keys::kTrainableVariables, graph_keys::kMovingAverageVariables}) {
    for (const Output& v : scope.Collection(collection)) {
      averaged.insert(v.node->name());
      names[AverageName(v)] = v;
    }
  }
  for (const Output& v : scope.Collection(graph_keys::kGlobalVariables)) {
    if (!averaged.contains(v.node->name())) names.try_emplace(v.node->name(), v);
  }
  return names;
}

}  // namespace millstream
