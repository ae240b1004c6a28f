// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/rewriting/replacement.h"

#include <unordered_set>
#include <vector>

#include "millstream/graph/node_kind.h"

namespace millstream {

namespace {

// Follows `from` to the end of its chain, and shortens the chain for whoever comes next: a chain may be as long as the
// graph.
template <typename Map, typename Key>
Key Follow(Map& map, const Key& from) {
  Key end = from;
  for (auto it = map.find(end); it != map.end(); it = map.find(end)) end = it->second;
  for (auto it = map.find(from); it != map.end() && !(it->second == end);) {
    const Key next = it->second;
    it->second = end;
    it = map.find(next);
  }
  return end;
}

}  // namespace

Output Replacements::Resolve(Output output) const { return Follow(outputs_, output); }

Node* Replacements::ResolveWait(Node* node) const { return Follow(dropped_, node); }

void Replacements::ApplyToWaits(Graph* graph, Node* node) const {
  bool changed = false;
  for (Node* in : node->control_inputs()) changed |= dropped_.contains(in);
  if (!changed) return;
  std::vector<Node*> waits;
  std::unordered_set<const Node*> seen = {nullptr, node};  // one node may wait for all others: no search in the list
  for (Node* in : node->control_inputs()) {
    Node* const to = ResolveWait(in);
    if (seen.insert(to).second) waits.push_back(to);
  }
  graph->SetControlInputs(node, std::move(waits));
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
    ApplyToWaits(&graph, node.get());
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
