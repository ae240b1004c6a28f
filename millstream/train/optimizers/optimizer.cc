// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/optimizer.h"

#include <algorithm>

#include "millstream/graph/variables/save_slice.h"
#include "millstream/train/losses/regularizers.h"
#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

// tf.tuple(): each gradient is given out when all are there.
std::vector<Grad> GatedGrads(const Scope& scope, const std::vector<Grad>& grads) {
  const Scope s = scope.NameScope("tuple");
  std::vector<Node*> all;
  for (const Grad& g : grads) {
    if (!g.IsNone()) all.push_back(g.IsSparse() ? g.values.node : g.dense.node);
  }
  std::sort(all.begin(), all.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  Node* gate = Group(s, all);
  const auto pass = [&](Output value) {
    return s.ColocateWith(value.node)
        .WithControlDependencies({gate})
        .WithOpName("control_dependency")
        .Op("Identity", {value});
  };
  std::vector<Grad> out;
  for (const Grad& g : grads) {
    if (g.IsNone())
      out.emplace_back();
    else
      out.push_back(g.IsSparse() ? Grad::Slices(pass(g.values), g.indices, g.dense_shape) : Grad(pass(g.dense)));
  }
  return out;
}

void CheckType(const Scope& scope, Output output, DType dtype) {
  if (output && !IsFloating(dtype)) {
    scope.Fail(errors::InvalidArgument("Invalid type ", DTypeName(dtype), " for ", output.name(),
                                       ", expected: half, bfloat16, float or double."));
  }
}

bool HasGradient(const GradientAndVariable& g) { return !g.gradient.IsNone(); }

std::string NamesOf(const std::vector<GradientAndVariable>& gradients) {
  std::string names;
  for (const GradientAndVariable& g : gradients) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", g.variable ? g.variable.handle.node->name() : "(none)");
  }
  return names;
}

}  // namespace

Output Hyperparameter::ToOutput(const Scope& scope, absl::string_view name) const {
  return tensor_ ? tensor_ : scope.WithOpName(name).Const(static_cast<float>(value_));
}

Node* Optimizer::Minimize(const Scope& scope, Output loss, const GraphVariable& global_step,
                          const ComputeGradientsOptions& options, const std::string& name) {
  const std::vector<GradientAndVariable> gradients = ComputeGradients(scope, loss, options);
  if (!scope.ok()) return nullptr;
  if (std::none_of(gradients.begin(), gradients.end(), HasGradient)) {
    scope.Fail(
        errors::InvalidArgument("No gradients provided for any variable, check your graph for ops that do not support "
                                "gradients, between variables ",
                                NamesOf(gradients), " and loss ", loss.name(), "."));
    return nullptr;
  }
  return ApplyGradients(scope, gradients, {.global_step = global_step, .name = name});
}

std::vector<GradientAndVariable> Optimizer::ComputeGradients(const Scope& scope, Output loss,
                                                             const ComputeGradientsOptions& options) {
  if (!scope.ok()) return {};
  std::vector<GradientAndVariable> result;
  std::vector<Output> targets;
  if (!loss) scope.Fail(errors::InvalidArgument("There is no loss to optimize"));
  const std::vector<GraphVariable> variables =
      options.variables.empty() ? VariablesIn(scope, graph_keys::kTrainableVariables) : options.variables;
  if (variables.empty()) scope.Fail(errors::InvalidArgument("No variables to optimize."));
  for (const GraphVariable& v : variables) {
    if (!v) scope.Fail(errors::InvalidArgument("An empty variable cannot be optimized"));
    targets.push_back(v.handle);
  }
  if (scope.ok()) CheckType(scope, loss, loss.dtype());
  if (!scope.ok()) return {};
  GradientOptions how;
  how.colocate_gradients_with_ops = options.colocate_gradients_with_ops;
  how.gate_gradients = options.gate == GateGradients::kOp;
  how.aggregation = options.aggregation;
  std::vector<Output> grad_ys;
  if (options.grad_loss) grad_ys.push_back(options.grad_loss);
  std::vector<Grad> grads;
  if (Status s = AddSymbolicGradients(scope, {loss}, targets, grad_ys, &grads, how); !s.ok()) {
    scope.Fail(s);
    return {};
  }
  if (options.gate == GateGradients::kGraph) grads = GatedGrads(scope, grads);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!grads[i].IsNone()) CheckType(scope, variables[i].handle, TypeOf(variables[i]));
    result.push_back({grads[i], variables[i]});
  }
  return result;
}

Node* Optimizer::ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                                const ApplyGradientsOptions& options) {
  if (!scope.ok()) return nullptr;
  if (gradients.empty()) scope.Fail(errors::InvalidArgument("No variables provided."));
  std::vector<GraphVariable> variables;
  for (const GradientAndVariable& g : gradients) {
    if (HasGradient(g)) variables.push_back(g.variable);
  }
  if (variables.empty())
    scope.Fail(errors::InvalidArgument("No gradients provided for any variable: ", NamesOf(gradients), "."));
  for (const GraphVariable& v : variables) {
    if (!v) scope.Fail(errors::InvalidArgument("There is a gradient for an empty variable"));
  }
  if (!scope.ok()) return nullptr;
  CreateSlots(scope.WithContext(nullptr), variables);
  const Scope s = scope.NameScope(options.name.empty() ? name_ : options.name);
  Prepare(s);
  std::vector<Node*> updates;
  for (const GradientAndVariable& g : gradients) {
    if (HasGradient(g) && scope.ok()) updates.push_back(ApplyOne(s, g));
  }
  if (!scope.ok()) return nullptr;
  Node* train = options.global_step ? Count(s, options.global_step, updates) : Finish(s, updates, s.name_prefix());
  if (train != nullptr) scope.AddToCollection(graph_keys::kTrainOp, Output(train));
  return train;
}

Node* Optimizer::ApplyOne(const Scope& scope, const GradientAndVariable& g) {
  const GraphVariable& v = g.variable;
  const Scope s = scope.NameScope(absl::StrCat("update_", v.handle.node->name())).ColocateWith(v.handle.node);
  if (!g.gradient.IsSparse()) return ApplyConstraint(s, v, ApplyDense(s, g.gradient.dense, v));
  if (HasConstraint(v)) {
    s.Fail(
        errors::FailedPrecondition("Cannot use a constraint function on a sparse variable: ", v.handle.node->name()));
    return nullptr;
  }
  return ApplySparseDuplicates(s, g.gradient.values, g.gradient.indices, v);
}

Node* Optimizer::Count(const Scope& scope, const GraphVariable& global_step, const std::vector<Node*>& updates) {
  Node* updated = Finish(scope, updates, "update");
  const Scope s = scope.WithControlDependencies({updated}).ColocateWith(global_step.handle.node);
  const Output one = s.WithOpName("value").Const(ScalarOf(TypeOf(global_step), 1));
  const Scope itself = s.WithOpName(s.name_prefix());
  return IsResource(global_step) ? itself.Add("AssignAddVariableOp", {global_step.handle, one})
                                 : itself.Add("AssignAdd", {global_step.handle, one});
}

Node* Optimizer::ApplySparseDuplicates(const Scope& scope, Output values, Output indices, const GraphVariable& v) {
  Node* unique = scope.Add("Unique", {indices});
  if (unique == nullptr) return nullptr;
  const Output count = operators::At(scope, scope.Op("Shape", {Output(unique, 0)}), 0);
  const Output sums = scope.Op("UnsortedSegmentSum", {values, Output(unique, 1), count});
  return ApplySparse(scope, sums, Output(unique, 0), v);
}

Node* Optimizer::Finish(const Scope& scope, const std::vector<Node*>& updates, absl::string_view name) {
  return Group(scope, updates, name);
}

GraphVariable Optimizer::Slot(const GraphVariable& v, const std::string& slot) const {
  const auto slots = slots_.find(slot);
  if (slots == slots_.end() || !v) return {};
  const auto found = slots->second.find(v.handle.node->name());
  return found == slots->second.end() ? GraphVariable() : found->second;
}

std::vector<std::string> Optimizer::SlotNames() const {
  std::vector<std::string> names;
  for (const auto& [name, slots] : slots_) names.push_back(name);
  return names;
}

std::vector<GraphVariable> Optimizer::Variables() const {
  std::vector<GraphVariable> own;
  for (const auto& [name, v] : non_slots_) own.push_back(v);
  for (const auto& [name, slots] : slots_) {
    for (const auto& [of, v] : slots) own.push_back(v);
  }
  std::sort(own.begin(), own.end(), [](const GraphVariable& a, const GraphVariable& b) {
    return a.handle.node->name() < b.handle.node->name();
  });
  return own;
}

GraphVariable Optimizer::MakeSlot(const Scope& scope, const GraphVariable& v, const std::string& slot,
                                  const std::string& op_name, const InitialValue& initial) {
  GraphVariable& own = slots_[slot][v.handle.node->name()];
  if (!own) own = MakeSlotVariable(scope, v, op_name, initial);
  return own;
}

GraphVariable Optimizer::MakeNonSlot(const Scope& scope, const std::string& name, double initial,
                                     const GraphVariable& beside) {
  GraphVariable& own = non_slots_[name];
  if (own) return own;
  VariableOptions options;
  options.initial_constant = Tensor::Scalar(static_cast<float>(initial));
  options.trainable = false;
  options.resource = IsResource(beside);
  own = MakeVariable(scope.ColocateWith(beside.handle.node), scope.UniqueName(name), Shape(), options);
  return own;
}

GraphVariable Optimizer::NonSlot(const std::string& name) const {
  const auto found = non_slots_.find(name);
  return found == non_slots_.end() ? GraphVariable() : found->second;
}

GraphVariable MakeSlotVariable(const Scope& scope, const GraphVariable& v, const std::string& name,
                               const InitialValue& initial, bool colocate) {
  if (!scope.ok()) return {};
  if (!v.shape.IsFullyDefined()) {
    scope.Fail(errors::InvalidArgument("Variable ", v.handle.node->name(), " has no full shape, which its slot ", name,
                                       " needs"));
    return {};
  }
  VariableOptions options;
  options.dtype = TypeOf(v);
  options.initializer = initial.initializer;
  options.initial_value = initial.value;
  options.trainable = false;
  options.resource = IsResource(v);
  const Scope root = scope.NameScope("").ColocateWith(colocate ? v.handle.node : nullptr);
  const std::string full = root.UniqueName(absl::StrCat(v.handle.node->name(), "/", name));
  const GraphVariable slot = MakeVariable(root, full, v.shape.ToShape(), options);
  // The slot of a slice is the same slice of what would be the whole variable's slot.
  if (std::optional<SaveSlice> slice = SaveSliceOf(*v.handle.node); slice.has_value() && slot) {
    absl::StrAppend(&slice->full_name, full.substr(v.handle.node->name().size()));
    SetSaveSlice(slot.handle.node, *slice);
  }
  return slot;
}

}  // namespace millstream
