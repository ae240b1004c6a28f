// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/passes/replacement.h"

#include "millstream/graph/node_kind.h"

namespace millstream {

Output Replacements::Resolve(Output output) const {
  for (auto it = outputs_.find(output); it != outputs_.end(); it = outputs_.find(output)) output = it->second;
  return output;
}

Node* Replacements::ResolveWait(Node* node) const {
  for (auto it = dropped_.find(node); node != nullptr && it != dropped_.end(); it = dropped_.find(node))
    node = it->second;
  return node;
}

void Replacements::Apply(PrunedGraph* part) const {
  if (empty()) return;
  Graph& graph = *part->graph;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output to = Resolve(node->input(i));
      if (!(to == node->input(i))) graph.SetInput(node.get(), i, to);
    }
    bool changed = false;
    for (Node* in : node->control_inputs()) changed |= dropped_.contains(in);
    if (!changed) continue;
    const std::vector<Node*> before = node->control_inputs();
    graph.SetControlInputs(node.get(), {});
    for (Node* in : before) {
      Node* to = ResolveWait(in);
      if (to != nullptr && to != node.get()) graph.AddControlInput(node.get(), to);
    }
  }
  for (Output& ret : part->rets) ret = Resolve(ret);
}

namespace {

// False for what stands for values from elsewhere, ends a graph or decides what runs.
bool ComputesValue(OpKind kind) {
  switch (kind) {
    case OpKind::kPlaceholder:
    case OpKind::kNoOp:
    case OpKind::kArg:
    case OpKind::kRetval:
    case OpKind::kLoopCond:
    case OpKind::kControlTrigger:
      return false;
    default:
      return !IsControlFlow(kind);
  }
}

}  // namespace

bool IsPure(const Node& node) {
  if (node.IsStateful() || !ComputesValue(KindOf(node))) return false;
  // What is shared by name has state, also where TensorFlow does not say so (Batch).
  for (const AttrDef& attr : node.op().def.attrs)
    if (attr.name == "shared_name") return false;
  for (const ArgDef& arg : node.op().def.inputs) {
    if (arg.is_ref) return false;
    // A name of something with state, also where TensorFlow does not say so (TensorArrayWriteV2).
    if (arg.type == DType::kString && arg.name == "handle") return false;
  }
  for (const ArgDef& arg : node.op().def.outputs)
    if (arg.is_ref) return false;
  // Reading a reference is an effect in time: the value may change between two reads.
  for (const Output& in : node.inputs())
    if (IsRef(in.node->output_type(in.index))) return false;
  return true;
}

}  // namespace millstream
