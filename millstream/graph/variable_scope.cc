// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variable_scope.h"

#include <cmath>
#include <map>

#include "millstream/graph/gradient.h"

namespace millstream {

struct VariableScope::Store {
  std::map<std::string, GraphVariable> variables;
};

Initializer ConstantInitializer(double value) {
  return [value](const Scope& s, DType dtype, const Shape& shape) {
    const Tensor scalar = ScalarOf(dtype, value);
    if (!scalar.IsInitialized()) {
      s.Fail(errors::InvalidArgument("No constant of type ", DTypeName(dtype), " to begin with"));
      return Output();
    }
    const Output dims = s.Const(Tensor::Vector(std::vector<int64_t>(shape.dims().begin(), shape.dims().end())));
    return s.Op("Fill", {dims, s.Const(scalar)});
  };
}

Initializer GlorotUniformInitializer(int64_t seed) {
  return [seed](const Scope& s, DType dtype, const Shape& shape) {
    // The sizes before the last two of a filter are its window.
    const int rank = shape.rank();
    const double window = rank > 2 ? static_cast<double>(shape.Product(0, rank - 2)) : 1;
    const double inputs = rank == 0 ? 1 : window * static_cast<double>(shape.dim(rank > 1 ? rank - 2 : 0));
    const double outputs = rank == 0 ? 1 : window * static_cast<double>(shape.dim(rank - 1));
    const double limit = std::sqrt(6.0 / std::max(1.0, inputs + outputs));
    const Output dims = s.Const(Tensor::Vector(std::vector<int64_t>(shape.dims().begin(), shape.dims().end())));
    const Output unit = s.Op("RandomUniform", {dims}, {{"dtype", dtype}, {"seed", seed}, {"seed2", int64_t{0}}});
    const Output spread = s.Op("Mul", {unit, s.Const(ScalarOf(dtype, 2 * limit))});
    return s.Op("Sub", {spread, s.Const(ScalarOf(dtype, limit))});
  };
}

VariableScope::VariableScope(const Scope& scope) : scope_(scope), store_(std::make_shared<Store>()) {}

VariableScope VariableScope::Enter(absl::string_view name, Reuse reuse) const {
  VariableScope inner = *this;
  if (name.empty()) {
    scope_.Fail(errors::InvalidArgument("A variable scope needs a name"));
    return inner;
  }
  inner.name_ = name_.empty() ? std::string(name) : absl::StrCat(name_, "/", name);
  inner.scope_ = scope_.NameScope(name);
  if (reuse != Reuse::kInherit && !(reuse_ == Reuse::kYes && reuse == Reuse::kNo)) inner.reuse_ = reuse;
  return inner;
}

VariableScope VariableScope::WithInitializer(Initializer initializer) const {
  VariableScope same = *this;
  same.initializer_ = std::move(initializer);
  return same;
}

GraphVariable VariableScope::Get(absl::string_view name, const Shape& shape, const VariableOptions& options) const {
  if (!scope_.ok()) return {};
  const std::string full = name_.empty() ? std::string(name) : absl::StrCat(name_, "/", name);
  const auto it = store_->variables.find(full);
  if (it != store_->variables.end()) {
    if (reuse_ != Reuse::kNo) return Found(full, it->second, shape, options.dtype);
    scope_.Fail(errors::InvalidArgument("Variable ", full, " already exists, disallowed. Did you mean to reuse it?"));
    return {};
  }
  if (reuse_ == Reuse::kYes) {
    scope_.Fail(errors::InvalidArgument("Variable ", full, " does not exist, and the scope must reuse variables"));
    return {};
  }
  const GraphVariable made = Make(full, shape, options);
  if (!scope_.ok()) return {};
  store_->variables.emplace(full, made);
  scope_.AddToCollection("variables", made.handle);
  if (options.trainable) scope_.AddToCollection("trainable_variables", made.handle);
  return made;
}

GraphVariable VariableScope::Found(const std::string& name, const GraphVariable& variable, const Shape& shape,
                                   DType dtype) const {
  if (variable.shape == PartialShape(shape) && variable.value.dtype() == dtype) return variable;
  scope_.Fail(errors::InvalidArgument("Trying to share variable ", name, ", but specified ", DTypeName(dtype), " ",
                                      shape.ToString(), " and found ", DTypeName(variable.value.dtype()), " ",
                                      variable.shape.ToString(), "."));
  return {};
}

// Named by the variable scope alone, whatever the name scope: "a/w", "a/w/Assign", "a/w/read".
GraphVariable VariableScope::Make(const std::string& name, const Shape& shape, const VariableOptions& options) const {
  const bool floating = IsFloating(options.dtype) || IsComplex(options.dtype);
  Initializer initializer = options.initializer != nullptr ? options.initializer : initializer_;
  if (initializer == nullptr) initializer = floating && !IsComplex(options.dtype) ? GlorotUniformInitializer() : ConstantInitializer(0);
  const Scope root = scope_.NameScope("").WithNoControlDependencies();
  const Scope within = root.NameScope(name + "/");
  GraphVariable v;
  v.shape = shape;
  v.handle = root.WithOpName(name).Op(
      options.resource ? "VarHandleOp" : "VariableV2", {},
      {{"dtype", options.dtype}, {"shape", PartialShape(shape)}, {"shared_name", options.resource ? name : std::string()}});
  if (v.handle && v.handle.node->name() != name) {
    scope_.Fail(errors::InvalidArgument("Variable ", name, " cannot be made: another node has its name"));
    return {};
  }
  const Output first = initializer(within.NameScope("Initializer"), options.dtype, shape);
  const Scope beside = within.ColocateWith(v.handle.node);
  v.initializer = beside.WithOpName("Assign").Add(options.resource ? "AssignVariableOp" : "Assign", {v.handle, first});
  v.value = options.resource ? within.WithOpName("Read/ReadVariableOp").Op("ReadVariableOp", {v.handle}, {{"dtype", options.dtype}})
                             : beside.WithOpName("read").Op("Identity", {v.handle});
  return v;
}

}  // namespace millstream
