// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/replacement.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// True if `output` is a scalar constant with this value; a scalar does not change the other operand's shape.
bool IsScalar(const Output& output, double wanted) {
  if (!IsA(*output.node, OpKind::kConst)) return false;
  Tensor value;
  if (!output.node->GetAttr("value", &value).ok() || value.rank() != 0) return false;
  bool equal = false;
  DispatchOver(RealTypes{}, value.dtype(),
               [&](auto tag) { equal = static_cast<double>(value.scalar<typename decltype(tag)::type>()) == wanted; });
  return equal;
}

// What the node hands on unchanged; empty if it does something.
Output PassedOn(const Node& node) {
  if (node.op().Has(OpTrait::kPassesInput)) return node.input(0);
  if (node.Is("AddN") && node.num_inputs() == 1) return node.input(0);
  if (node.Is("Mul")) {
    if (IsScalar(node.input(1), 1)) return node.input(0);
    if (IsScalar(node.input(0), 1)) return node.input(1);
  }
  if ((node.Is("RealDiv") || node.Is("Div")) && IsScalar(node.input(1), 1)) return node.input(0);
  if (node.Is("Cast") && node.input(0).dtype() == node.output_type(0)) return node.input(0);
  if (node.Is("Neg") && node.input(0).node->Is("Neg") && IsPure(*node.input(0).node))
    return node.input(0).node->input(0);
  return {};
}

}  // namespace

Status SimplifyArithmetic(PrunedGraph* part) {
  Replacements passed;
  for (const auto& node : part->graph->nodes()) {
    if (node == nullptr || !IsPure(*node) || !node->control_inputs().empty()) continue;
    const Output from = PassedOn(*node);
    // What comes out of a branch or a loop decides who runs: those edges stay as they are.
    if (!from || from.node->IsControlFlow() || from.node->assigned_device() != node->assigned_device()) continue;
    passed.Replace(Output(node.get()), from);
    passed.Drop(node.get(), IsA(*from.node, OpKind::kArg) ? nullptr : from.node);
  }
  passed.Apply(part);
  // A reshaped reshape needs the last shape only.
  for (const auto& node : part->graph->nodes()) {
    if (node == nullptr || !node->Is("Reshape") || !IsPure(*node)) continue;
    const Node& inner = *node->input(0).node;
    if (inner.Is("Reshape") && IsPure(inner) && inner.control_inputs().empty()) {
      part->graph->SetInput(node.get(), 0, inner.input(0));
    }
  }
  return OkStatus();
}

}  // namespace millstream
