// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/variables/variable_scope.h"

#include <map>
#include <set>

#include "millstream/graph/variables/save_slice.h"

namespace millstream {

struct VariableScope::Store {
  std::map<std::string, GraphVariable> variables;
  std::map<std::string, PartitionedVariable> partitioned;
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
  std::erase_if(store_->scopes, [within = inner.name_ + "/"](const std::string& s) { return s.starts_with(within); });
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

VariableScope VariableScope::WithRegularizer(Regularizer regularizer) const {
  VariableScope same = *this;
  same.regularizer_ = std::move(regularizer);
  return same;
}

VariableScope VariableScope::WithConstraint(Constraint constraint) const {
  VariableScope same = *this;
  same.constraint_ = std::move(constraint);
  return same;
}

VariableScope VariableScope::WithPartitioner(Partitioner partitioner) const {
  VariableScope same = *this;
  same.partitioner_ = std::move(partitioner);
  return same;
}

VariableScope VariableScope::WithCustomGetter(CustomGetter getter) const {
  VariableScope same = *this;
  if (getter_ == nullptr) {
    same.getter_ = std::move(getter);
    return same;
  }
  same.getter_ = [inner = std::move(getter), outer = getter_](const VariableGetter& plain, const std::string& name,
                                                              const Shape& shape, const VariableOptions& options) {
    const VariableGetter around = [&](const std::string& n, const Shape& s, const VariableOptions& o) {
      return outer(plain, n, s, o);
    };
    return inner(around, name, shape, options);
  };
  return same;
}

VariableScope VariableScope::WithDevice(absl::string_view device) const {
  VariableScope same = *this;
  same.scope_ = scope_.WithDevice(device);
  same.variables_ = variables_.WithDevice(device);
  return same;
}

VariableScope VariableScope::WithDeviceFunction(DeviceFunction place) const {
  VariableScope same = *this;
  const auto shared = std::make_shared<DeviceFunction>(std::move(place));  // one for both: it may count
  const DeviceFunction ask = [shared](const Node& node) { return (*shared)(node); };
  same.scope_ = scope_.WithDeviceFunction(ask);
  same.variables_ = variables_.WithDeviceFunction(ask);
  return same;
}

VariableScope VariableScope::WithScope(const Scope& scope) const {
  VariableScope same = *this;
  same.scope_ = scope;
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

VariableOptions VariableScope::Complete(const VariableOptions& options) const {
  VariableOptions own = options;
  if (own.initializer == nullptr) own.initializer = initializer_;
  if (own.regularizer == nullptr) own.regularizer = regularizer_;
  if (own.constraint == nullptr) own.constraint = constraint_;
  if (own.partitioner == nullptr) own.partitioner = partitioner_;
  return own;
}

GraphVariable VariableScope::Get(absl::string_view name, const Shape& shape, const VariableOptions& options) const {
  if (!scope_.ok()) return {};
  const VariableOptions own = Complete(options);
  const std::string full = Joined(name_, name);
  if (own.partitioner != nullptr && shape.rank() > 0) {
    scope_.Fail(errors::InvalidArgument("Variable ", full, " is partitioned: GetPartitioned() and GetValue() give it"));
    return {};
  }
  return GetNamed(full, shape, own);
}

GraphVariable VariableScope::GetNamed(const std::string& name, const Shape& shape,
                                      const VariableOptions& options) const {
  if (getter_ == nullptr) return GetPlain(name, shape, options);
  const VariableGetter plain = [this](const std::string& n, const Shape& s, const VariableOptions& o) {
    return GetPlain(n, s, o);
  };
  return getter_(plain, name, shape, options);
}

GraphVariable VariableScope::GetPlain(const std::string& name, const Shape& shape,
                                      const VariableOptions& options) const {
  if (!scope_.ok()) return {};
  const auto it = store_->variables.find(name);
  if (it != store_->variables.end()) {
    if (reuse_ != Reuse::kNo) return Found(name, it->second, shape, options.dtype);
    scope_.Fail(errors::InvalidArgument("Variable ", name, " already exists, disallowed. Did you mean to reuse it?"));
    return {};
  }
  if (store_->partitioned.contains(name)) {
    scope_.Fail(errors::InvalidArgument("No partitioner was provided, but a partitioned version of the variable was ",
                                        "found: ", name, "/part_0."));
    return {};
  }
  if (reuse_ == Reuse::kYes) {
    scope_.Fail(errors::InvalidArgument("Variable ", name, " does not exist, and the scope must reuse variables"));
    return {};
  }
  const GraphVariable made = MakeVariable(variables_, name, shape, options);
  if (!scope_.ok()) return {};
  store_->variables.emplace(name, made);
  return made;
}

PartitionedVariable VariableScope::GetPartitioned(absl::string_view name, const Shape& shape,
                                                  const VariableOptions& options) const {
  if (!scope_.ok()) return {};
  const std::string full = Joined(name_, name);
  const auto it = store_->partitioned.find(full);
  if (it != store_->partitioned.end()) {
    const PartitionedVariable& found = it->second;
    if (reuse_ == Reuse::kNo) {
      scope_.Fail(errors::InvalidArgument("Partitioned variable with name ", full,
                                          " already exists. Did you mean to reuse it?"));
    } else if (found.shape != shape || found.parts[0].value.dtype() != options.dtype) {
      scope_.Fail(errors::InvalidArgument("Trying to share partitioned variable ", full, ", but specified ",
                                          DTypeName(options.dtype), " ", shape.ToString(), " and found ",
                                          DTypeName(found.parts[0].value.dtype()), " ", found.shape.ToString(), "."));
    }
    return scope_.ok() ? found : PartitionedVariable();
  }
  const PartitionedVariable made = MakeParts(full, shape, Complete(options));
  if (!scope_.ok()) return {};
  store_->partitioned.emplace(full, made);
  return made;
}

PartitionedVariable VariableScope::MakeParts(const std::string& name, const Shape& shape,
                                             const VariableOptions& options) const {
  if (options.partitioner == nullptr) scope_.Fail(errors::InvalidArgument("There is no partitioner for ", name));
  if (store_->variables.contains(name)) {
    scope_.Fail(errors::InvalidArgument("A partitioner was provided, but an unpartitioned version of the variable was ",
                                        "found: ", name, "."));
  }
  if (!scope_.ok()) return {};
  const std::vector<int64_t> partitions = options.partitioner(shape, options.dtype);
  const StatusOr<std::vector<VariablePart>> parts = PartsOf(shape, partitions);
  if (!parts.ok()) {
    scope_.Fail(parts.status());
    return {};
  }
  PartitionedVariable whole{name, shape, 0, {}};
  for (size_t i = 0; i < parts->size(); ++i) {
    const VariablePart& part = (*parts)[i];
    VariableOptions own = options;
    if (own.initializer == nullptr && IsFloating(own.dtype)) own.initializer = GlorotUniformInitializer();
    own.initializer = InitializerOfPart(own.initializer, part);
    whole.parts.push_back(GetNamed(absl::StrCat(name, "/part_", i), part.shape, own));
    if (!scope_.ok() || !whole.parts.back()) return {};
    const std::vector<int64_t> size(part.shape.dims().begin(), part.shape.dims().end());
    const std::vector<int64_t> full(shape.dims().begin(), shape.dims().end());
    SetSaveSlice(whole.parts.back().handle.node, {name, full, part.offset, size});
    for (int d = 0; d < shape.rank(); ++d) whole.axis = partitions[static_cast<size_t>(d)] > 1 ? d : whole.axis;
  }
  return whole;
}

Output PartitionedVariable::Value(const Scope& scope) const {
  if (!scope.ok() || parts.empty()) return {};
  const Scope root = scope.WithContext(nullptr).NameScope("");
  Output all = parts[0].value;
  if (parts.size() > 1) {
    std::vector<Output> values;
    for (const GraphVariable& part : parts) values.push_back(part.value);
    const Scope s = root.NameScope(absl::StrCat(name, "/ConcatPartitions/")).NameScope("concat");
    values.push_back(s.WithOpName("axis").Const(static_cast<int32_t>(axis)));
    all = s.WithOpName(s.name_prefix()).Op("ConcatV2", values);
  }
  return root.WithOpName(name).Op("Identity", {all});
}

Output VariableScope::GetValue(absl::string_view name, const Shape& shape, const VariableOptions& options) const {
  const bool parts = shape.rank() > 0 && (options.partitioner != nullptr || partitioner_ != nullptr);
  return parts ? GetPartitioned(name, shape, options).Value(scope_) : Get(name, shape, options).value;
}

GraphVariable VariableScope::Found(const std::string& name, const GraphVariable& variable, const Shape& shape,
                                   DType dtype) const {
  if (variable.shape == PartialShape(shape) && variable.value.dtype() == dtype) return variable;
  scope_.Fail(errors::InvalidArgument("Trying to share variable ", name, ", but specified ", DTypeName(dtype), " ",
                                      shape.ToString(), " and found ", DTypeName(variable.value.dtype()), " ",
                                      variable.shape.ToString(), "."));
  return {};
}

namespace {

// What the regularizer costs goes to its collection. Its nodes are colocated with the variable.
void AddRegularizer(const Scope& scope, const GraphVariable& v, const Regularizer& regularizer) {
  if (regularizer == nullptr || !scope.ok()) return;
  const Scope beside =
      scope.ColocateWith(v.handle.node).NameScope(absl::StrCat(v.handle.node->name(), "/Regularizer/"));
  const Output loss = regularizer(beside, v.value);
  if (loss && beside.ok()) beside.AddToCollection("regularization_losses", loss);
}

void AddConstraint(const Scope& scope, const GraphVariable& v, const Constraint& constraint) {
  if (constraint == nullptr || !scope.ok()) return;
  const Scope beside = scope.ColocateWith(v.handle.node);
  const Output allowed = constraint(beside.NameScope("Constraint"), v.value);
  if (allowed && beside.ok()) v.handle.node->attrs().Set("_constraint", allowed.name());
}

// The first value, in the scope of the variable's name. Nodes of an initializer name the variable that they are
// colocated with before it is there, and have no device of their own.
Output InitialValue(const Scope& own, const std::string& name, const Shape& shape, const VariableOptions& options) {
  if (options.initial_value) return options.initial_value;
  if (options.initial_constant.has_value() && !options.resource) {
    return own.WithOpName("initial_value").Const(*options.initial_constant);
  }
  const Scope apart = own.NameScope("Initializer").ColocateWithName(name).WithNoDevice();
  if (options.initial_constant.has_value()) {
    return apart.WithOpName("initial_value").Const(*options.initial_constant);
  }
  if (options.initializer != nullptr) return options.initializer(apart, options.dtype, shape);
  return (IsFloating(options.dtype) ? GlorotUniformInitializer() : ZerosInitializer())(apart, options.dtype, shape);
}

Output AddVariableNode(const Scope& own, const std::string& name, const Shape& shape, const VariableOptions& options) {
  const bool from_value = options.initial_value || options.initial_constant.has_value();
  const Scope s = from_value && !options.resource ? own : own.ColocateWithName(name);
  return s.WithOpName(name + "/")
      .Op(options.resource ? "VarHandleOp" : "VariableV2", {},
          {{"dtype", options.dtype},
           {"shape", PartialShape(shape)},
           {"shared_name", options.resource ? name : std::string()}});
}

// The ops that initialize and read a resource: on its device, but not colocated with it by name.
void AddResourceOps(const Scope& own, Output first, GraphVariable* v) {
  own.NameScope("IsInitialized").Op("VarIsInitializedOp", {v->handle});
  const Scope assign = own.WithNoColocation().WithNoDevice().WithDevice(v->handle.node->device());
  v->initializer = assign.WithOpName("Assign").Add("AssignVariableOp", {v->handle, first});
  const Scope there = own.NameScope("Read").WithDevice(v->handle.node->device());
  v->value = there.Op("ReadVariableOp", {v->handle}, {{"dtype", first.dtype()}});
}

}  // namespace

GraphVariable MakeVariable(const Scope& scope, const std::string& name, const Shape& shape,
                           const VariableOptions& options) {
  if (!scope.ok()) return {};
  if (scope.graph()->Find(name) != nullptr) {
    scope.Fail(errors::InvalidArgument("Variable ", name, " cannot be made: another node has its name"));
    return {};
  }
  const Scope root = scope.WithContext(nullptr).NameScope("");
  const Scope own = root.NameScope(name + "/");
  GraphVariable v;
  v.shape = shape;
  const Output first = InitialValue(own, name, shape, options);
  v.handle = AddVariableNode(own, name, shape, options);
  if (!first || !v.handle) return {};
  if (options.resource) {
    AddResourceOps(own, first, &v);
  } else {
    v.initializer = own.WithOpName("Assign").Add("Assign", {v.handle, first});
    v.value = own.ColocateWith(v.handle.node).WithOpName("read").Op("Identity", {v.handle});
  }
  if (!scope.ok()) return {};
  AddRegularizer(root, v, options.regularizer);
  AddConstraint(own, v, options.constraint);
  for (const std::string& collection : options.collections) scope.AddToCollection(collection, v.handle);
  if (options.trainable) scope.AddToCollection("trainable_variables", v.handle);
  return v;
}

}  // namespace millstream
