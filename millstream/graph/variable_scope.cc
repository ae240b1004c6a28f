// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variable_scope.h"

#include <map>
#include <set>

namespace millstream {

struct VariableScope::Store {
  std::map<std::string, GraphVariable> variables;
  std::set<std::string> scopes;  // that were entered
};

namespace {

std::string Joined(const std::string& outer, absl::string_view name) {
  return outer.empty() ? std::string(name) : absl::StrCat(outer, "/", name);
}

}  // namespace

VariableScope::VariableScope(const Scope& scope)
    : scope_(scope), variables_(scope), store_(std::make_shared<Store>()) {}

VariableScope VariableScope::Enter(absl::string_view name, Reuse reuse) const {
  VariableScope inner = *this;
  if (name.empty()) {
    scope_.Fail(errors::InvalidArgument("A variable scope needs a name"));
    return inner;
  }
  inner.name_ = Joined(name_, name);
  store_->scopes.insert(inner.name_);
  inner.scope_ = scope_.NameScope(name);
  if (reuse != Reuse::kInherit && !(reuse_ == Reuse::kYes && reuse == Reuse::kNo)) inner.reuse_ = reuse;
  return inner;
}

VariableScope VariableScope::WithInitializer(Initializer initializer) const {
  VariableScope same = *this;
  same.initializer_ = std::move(initializer);
  return same;
}

VariableScope VariableScope::WithDevice(absl::string_view device) const {
  VariableScope same = *this;
  same.scope_ = scope_.WithDevice(device);
  same.variables_ = variables_.WithDevice(device);
  return same;
}

VariableScope VariableScope::WithOpDevice(absl::string_view device) const {
  VariableScope same = *this;
  same.scope_ = scope_.WithDevice(device);
  return same;
}

VariableScope VariableScope::WithDeviceFunction(DeviceFunction place) const {
  VariableScope same = *this;
  same.place_ = std::move(place);
  return same;
}

VariableScope VariableScope::EnterNew(absl::string_view base) const {
  std::string name(base);
  for (int i = 1; store_->scopes.contains(Joined(name_, name)); ++i) name = absl::StrCat(base, "_", i);
  return Enter(name);
}

VariableScope VariableScope::AtRoot() const {
  VariableScope root = *this;
  root.name_.clear();
  root.scope_ = scope_.NameScope("");
  return root;
}

GraphVariable VariableScope::Get(absl::string_view name, const Shape& shape, const VariableOptions& options) const {
  if (!scope_.ok()) return {};
  const std::string full = Joined(name_, name);
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
  VariableOptions own = options;
  if (own.initializer == nullptr) own.initializer = initializer_;
  const GraphVariable made = MakeVariable(variables_, full, shape, own, place_);
  if (!scope_.ok()) return {};
  store_->variables.emplace(full, made);
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

GraphVariable MakeVariable(const Scope& scope, const std::string& name, const Shape& shape,
                           const VariableOptions& options, const DeviceFunction& place) {
  if (!scope.ok()) return {};
  if (scope.graph()->Find(name) != nullptr) {
    scope.Fail(errors::InvalidArgument("Variable ", name, " cannot be made: another node has its name"));
    return {};
  }
  Initializer initializer = options.initializer;
  if (initializer == nullptr) initializer = IsFloating(options.dtype) ? GlorotUniformInitializer() : ZerosInitializer();
  const Scope root = scope.WithContext(nullptr).NameScope("");
  const Scope within = root.NameScope(name + "/");
  GraphVariable v;
  v.shape = shape;
  v.handle = root.WithOpName(name + "/")
                 .Op(options.resource ? "VarHandleOp" : "VariableV2", {},
                     {{"dtype", options.dtype},
                      {"shape", PartialShape(shape)},
                      {"shared_name", options.resource ? name : std::string()}});
  if (!v.handle) return {};
  if (place != nullptr) v.handle.node->set_device(place(*v.handle.node));
  const Scope beside = within.ColocateWith(v.handle.node);
  const Output first = initializer(beside.NameScope("Initializer"), options.dtype, shape);
  v.initializer = beside.WithOpName("Assign").Add(options.resource ? "AssignVariableOp" : "Assign", {v.handle, first});
  v.value = options.resource
                ? within.WithOpName("Read/ReadVariableOp").Op("ReadVariableOp", {v.handle}, {{"dtype", options.dtype}})
                : beside.WithOpName("read").Op("Identity", {v.handle});
  if (!scope.ok()) return {};
  for (const std::string& collection : options.collections) scope.AddToCollection(collection, v.handle);
  if (options.trainable) scope.AddToCollection("trainable_variables", v.handle);
  return v;
}

}  // namespace millstream
