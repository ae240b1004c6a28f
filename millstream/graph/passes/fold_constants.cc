// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/flush_denormals.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

// A folded value may not make the plan much larger than the constants it comes from.
constexpr size_t kMaxFoldedBytes = 1 << 20;

bool CanFold(const Node& node, const Replacements& folded) {
  if (IsA(node, OpKind::kConst) || !IsPure(node) || node.num_inputs() == 0 || node.num_outputs() == 0 ||
      !node.control_inputs().empty()) {
    return false;
  }
  for (const DType t : node.output_types())
    if (t == DType::kResource || t == DType::kVariant) return false;
  for (const Output& in : node.inputs())
    if (!IsFreeConstant(*folded.Resolve(in).node)) return false;
  return true;
}

// The values of a node whose inputs are constants; empty if it cannot be computed here (it then fails, or not, when it
// runs).
std::vector<Tensor> Evaluate(const Node& node, const Replacements& folded) {
  std::vector<Tensor> inputs;
  size_t bytes = 0;
  for (const Output& in : node.inputs()) {
    Tensor value;
    if (!folded.Resolve(in).node->GetAttr("value", &value).ok()) return {};
    bytes += value.ByteSize();
    inputs.push_back(std::move(value));
  }
  StatusOr<std::vector<Tensor>> values =
      RunKernel(node.op(), node.attrs(), std::move(inputs), CpuDevice::SingleThreaded());
  if (!values.ok()) return {};
  for (const Tensor& value : *values) {
    if (!value.IsInitialized() || value.ByteSize() > std::max(kMaxFoldedBytes, bytes)) return {};
  }
  return *std::move(values);
}

}  // namespace

Status FoldConstants(PrunedGraph* part) {
  const FlushDenormals flush;
  Graph& graph = *part->graph;
  ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  ASSIGN_OR_RETURN(const OpEntry* const_op, OpRegistry::Global().Lookup("Const"));
  Replacements folded;
  for (Node* node : order) {
    if (!CanFold(*node, folded)) continue;
    const std::vector<Tensor> values = Evaluate(*node, folded);
    for (size_t i = 0; i < values.size(); ++i) {
      Graph::NodeSpec spec;
      spec.name = graph.UniqueName(absl::StrCat(node->name(), "/folded_", i));
      spec.op = const_op;
      spec.attrs.Set("value", values[i]);
      spec.attrs.Set("dtype", values[i].dtype());
      spec.device = node->device();
      ASSIGN_OR_RETURN(Node * constant, graph.AddNode(std::move(spec)));
      constant->set_assigned_device(node->assigned_device());
      folded.Replace(Output(node, static_cast<int>(i)), Output(constant));
    }
    if (!values.empty()) folded.Drop(node, nullptr);
  }
  folded.Apply(part);
  return OkStatus();
}

}  // namespace millstream
