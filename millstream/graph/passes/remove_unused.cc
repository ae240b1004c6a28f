// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/passes/passes.h"

namespace millstream {

void RemoveUnused(PrunedGraph* part) {
  Graph& graph = *part->graph;
  std::vector<bool> used(static_cast<size_t>(graph.id_limit()), false);
  std::vector<Node*> stack;
  const auto visit = [&](Node* node) {
    if (used[node->id()]) return;
    used[node->id()] = true;
    stack.push_back(node);
  };
  for (Node* node : part->args) visit(node);
  for (Node* node : part->targets) visit(node);
  for (const Output& out : part->rets) visit(out.node);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Output& in : node->inputs()) visit(in.node);
    for (Node* in : node->control_inputs()) visit(in);
  }
  for (int id = 0; id < graph.id_limit(); ++id) {
    if (graph.nodes()[id] != nullptr && !used[id]) graph.RemoveNode(graph.nodes()[id].get());
  }
  graph.Compact();
}

}  // namespace millstream
