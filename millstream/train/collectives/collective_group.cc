// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/collective_group.h"

namespace millstream {

bool CanGather(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kDouble || dtype == DType::kInt32 ||
         dtype == DType::kInt64;
}

Output CollectiveGroup::Add(const Scope& scope, const char* op, std::vector<Output> inputs, Attrs attrs) {
  std::vector<std::pair<std::string, AttrValue>> all = {{"group_size", int64_t{size_}},
                                                        {"group_key", int64_t{group_key_}},
                                                        {"instance_key", int64_t{next_instance_key_++}}};
  for (const auto& [name, value] : attrs) all.emplace_back(name, value);
  Node* const node = scope.Add(op, std::move(inputs), std::move(all));
  return node == nullptr ? Output() : Output(node, 0);
}

Output CollectiveGroup::Mean(const Scope& scope, Output value) {
  if (size_ == 1 || !scope.ok()) return value;
  return Add(scope, "CollectiveReduce", {value},
             {{"merge_op", "Add"}, {"final_op", "Div"}, {"subdiv_offsets", std::vector<int64_t>{0}}});
}

Output CollectiveGroup::Gather(const Scope& scope, Output value) {
  if (size_ == 1 || !scope.ok()) return value;
  PartialShape shape = scope.ShapeOf(value);
  if (shape.rank_known() && shape.rank() > 0) shape.set_dim(0, shape.dim(0) < 0 ? -1 : shape.dim(0) * size_);
  return Add(scope, "CollectiveGather", {value}, {{"shape", shape}});
}

Output CollectiveGroup::SendToAll(const Scope& scope, Output value) {
  if (size_ == 1 || !scope.ok()) return value;
  return Add(scope, "CollectiveBcastSend", {value}, {{"shape", scope.ShapeOf(value)}});
}

Output CollectiveGroup::ReceiveFromRoot(const Scope& scope, DType dtype, const PartialShape& shape) {
  return scope.ok() ? Add(scope, "CollectiveBcastRecv", {}, {{"T", dtype}, {"shape", shape}}) : Output();
}

Node* CollectiveGroup::Broadcast(const Scope& scope, const std::vector<GraphVariable>& variables, bool is_root) {
  const Scope s = scope.NameScope("broadcast_variables");
  std::vector<Node*> all;
  for (const GraphVariable& v : variables) {
    if (!s.ok()) return nullptr;
    if (size_ == 1) break;
    if (!CanGather(TypeOf(v)) && TypeOf(v) != DType::kBool) {
      s.Fail(errors::Unimplemented("Variable '", v.handle.node->name(), "' cannot be broadcast: it has type ",
                                   DTypeName(TypeOf(v))));
      return nullptr;
    }
    const Scope there = s.WithDevice(v.handle.node->device());
    // The root assigns what it has, too: a step that is repeated then applies all of its updates everywhere, not only
    // those that an outage had kept from the root.
    const Output value = is_root ? SendToAll(there, UseVariable(there, v)) : ReceiveFromRoot(there, TypeOf(v), v.shape);
    all.push_back(s.ok() ? AssignVariable(there, v, value).node : nullptr);
  }
  return s.ok() ? Group(s, all) : nullptr;
}

}  // namespace millstream
