// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/variables/variables.h"

#include <map>

#include "absl/strings/match.h"
#include "millstream/graph/control_flow/control_flow_builders.h"

namespace millstream {
namespace {

// The node of that name if it is of that type and works on `handle`.
Node* Companion(const Scope& scope, const Output& handle, absl::string_view suffix, absl::string_view type) {
  Node* node = scope.graph()->Find(absl::StrCat(handle.node->name(), suffix));
  return node != nullptr && node->Is(type) && node->num_inputs() > 0 && node->input(0) == handle ? node : nullptr;
}

Output Change(const Scope& scope, const GraphVariable& v, Output value, bool use_locking, const char* ref_op,
              const char* resource_op) {
  if (!IsResource(v)) return scope.Op(ref_op, {v.handle, value}, {{"use_locking", use_locking}});
  return ReadAfter(scope.WithOpName(""), v, scope.Add(resource_op, {v.handle, value}));
}

Node* NoOpAfter(const Scope& scope, absl::string_view device, const std::vector<Node*>& nodes) {
  const Scope after = scope.WithControlDependencies(nodes);
  return (device.empty() ? after : after.WithDevice(device)).Add("NoOp", {});
}

}  // namespace

GraphVariable FindVariable(const Scope& scope, Output handle) {
  GraphVariable v;
  if (!handle) return v;
  v.handle = handle;
  if (Status s = handle.node->GetAttr("shape", &v.shape); !s.ok()) v.shape = PartialShape();
  const bool resource = handle.dtype() == DType::kResource;
  v.initializer = Companion(scope, handle, "/Assign", resource ? "AssignVariableOp" : "Assign");
  Node* read = resource ? Companion(scope, handle, "/Read/ReadVariableOp", "ReadVariableOp")
                        : Companion(scope, handle, "/read", "Identity");
  if (read != nullptr) {
    v.value = Output(read);
  } else if (resource) {
    DType dtype = DType::kFloat;
    if (Status s = handle.node->GetAttr("dtype", &dtype); !s.ok()) scope.Fail(s);
    v.value = scope.WithContext(nullptr).ColocateWith(handle.node).Op("ReadVariableOp", {handle}, {{"dtype", dtype}});
  } else {
    v.value = handle;
  }
  return v;
}

std::vector<GraphVariable> VariablesIn(const Scope& scope, const std::string& collection) {
  std::vector<GraphVariable> found;
  for (const Output& handle : scope.Collection(collection)) found.push_back(FindVariable(scope, handle));
  return found;
}

Output ReadVariable(const Scope& scope, const GraphVariable& v) {
  if (!IsResource(v)) return scope.WithOpName("read").Op("Identity", {v.handle});
  return scope.Op("Identity", {scope.NameScope("Read").Op("ReadVariableOp", {v.handle}, {{"dtype", TypeOf(v)}})});
}

Output UseVariable(const Scope& scope, const GraphVariable& v) {
  if (!IsResource(v)) return v.value;
  const Scope there = scope.WithNoColocation().WithNoDevice().WithDevice(v.handle.node->device());
  return there.Op("ReadVariableOp", {v.handle}, {{"dtype", TypeOf(v)}});
}

Output InitializedValue(const Scope& scope, const GraphVariable& v) {
  if (v.initializer == nullptr) return v.value;
  const Output initial = v.initializer->input(1);
  const std::vector<Output> value = Cond(
      scope.WithContext(nullptr), IsVariableInitialized(scope.WithContext(nullptr), v.handle),
      [&](const Scope& s) { return std::vector<Output>{ReadVariable(s, v)}; },
      [&](const Scope&) { return std::vector<Output>{initial}; });
  return value.empty() ? Output() : value[0];
}

Output ReadAfter(const Scope& scope, const GraphVariable& v, Node* change) {
  return scope.WithControlDependencies({change}).Op("ReadVariableOp", {v.handle}, {{"dtype", TypeOf(v)}});
}

Output AssignVariable(const Scope& scope, const GraphVariable& v, Output value, bool use_locking) {
  return Change(scope, v, value, use_locking, "Assign", "AssignVariableOp");
}
Output AddToVariable(const Scope& scope, const GraphVariable& v, Output delta, bool use_locking) {
  return Change(scope, v, delta, use_locking, "AssignAdd", "AssignAddVariableOp");
}
Output SubtractFromVariable(const Scope& scope, const GraphVariable& v, Output delta, bool use_locking) {
  return Change(scope, v, delta, use_locking, "AssignSub", "AssignSubVariableOp");
}

Node* VariablesInitializer(const Scope& scope, const std::vector<Output>& handles, absl::string_view name) {
  std::vector<Node*> initializers;
  for (const Output& handle : handles) {
    Node* initializer = FindVariable(scope, handle).initializer;
    if (initializer == nullptr)
      scope.Fail(errors::InvalidArgument("Variable ", handle.node->name(), " has no initializer"));
    initializers.push_back(initializer);
  }
  return Group(scope, initializers, name);
}

Output IsVariableInitialized(const Scope& scope, Output handle) {
  return handle.dtype() == DType::kResource ? scope.Op("VarIsInitializedOp", {handle})
                                            : scope.Op("IsVariableInitialized", {handle});
}

Output ReportUninitializedVariables(const Scope& scope, const std::vector<Output>& handles, absl::string_view name) {
  const Scope s = scope.NameScope(name);
  std::vector<Output> initialized;
  std::vector<std::string> names;
  for (const Output& handle : handles) {
    initialized.push_back(IsVariableInitialized(s, handle));
    names.push_back(handle.node->name());
  }
  const Scope cpu = s.WithDevice("/device:CPU:0");
  if (handles.empty()) return cpu.Const(Tensor::Vector(names));
  const Output missing = cpu.Op("LogicalNot", {cpu.WithOpName("stack").Op("Pack", initialized)});
  const Output all = cpu.Const(Tensor::Vector(names));
  const Scope mask = cpu.NameScope("boolean_mask");
  const Output rows = mask.Op("Squeeze", {mask.Op("Where", {missing})}, {{"squeeze_dims", std::vector<int64_t>{1}}});
  const Scope gather = mask.NameScope("GatherV2");
  const Output axis = gather.WithOpName("axis").Const<int32_t>(0);
  return gather.WithOpName(gather.name_prefix()).Op("GatherV2", {all, rows, axis});
}

Node* Group(const Scope& scope, const std::vector<Node*>& nodes, absl::string_view name) {
  const Scope s = scope.NameScope(name);
  std::map<std::string, std::vector<Node*>> by_device;
  for (Node* node : nodes) {
    if (node != nullptr) by_device[std::string(node->device())].push_back(node);
  }
  const Scope itself = s.WithOpName(s.name_prefix());
  if (by_device.empty()) return itself.Add("NoOp", {});
  if (by_device.size() == 1) return NoOpAfter(itself, by_device.begin()->first, by_device.begin()->second);
  std::vector<Node*> groups;
  for (const auto& [device, members] : by_device) groups.push_back(NoOpAfter(s, device, members));
  return NoOpAfter(itself, "", groups);
}

Output CastTo(const Scope& scope, Output value, DType dtype) {
  return !value || value.dtype() == dtype ? value : scope.Op("Cast", {value}, {{"DstT", dtype}});
}

}  // namespace millstream
