// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/passes/passes.h"

namespace millstream {
namespace {

// The variable behind "v/read", an Identity of a reference; empty if the output is none.
Output VariableRead(const Output& out) {
  if (!out.node->Is("Identity") || out.node->num_inputs() != 1) return {};
  const Output& from = out.node->input(0);
  return IsRef(from.node->output_type(from.index)) ? from : Output();
}

}  // namespace

void ReadReferencesLate(PrunedGraph* part) {
  Graph& graph = *part->graph;
  for (const auto& node : graph.nodes()) {
    // What moves values between frames hands them on as they are.
    if (node == nullptr || node->IsControlFlow()) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output variable = VariableRead(node->input(i));
      if (!variable || variable.node->assigned_device() != node->assigned_device()) continue;
      for (Node* before : node->input(i).node->control_inputs()) graph.AddControlInput(node.get(), before);
      graph.SetInput(node.get(), i, variable);
    }
  }
}

}  // namespace millstream
