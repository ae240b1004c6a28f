// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_name.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

bool IsConstantZero(const Output& output) {
  Tensor value;
  if (!IsA(*output.node, OpKind::kConst) || !output.node->GetAttr("value", &value).ok()) return false;
  if (value.rank() != 0) return false;
  return value.dtype() == DType::kInt32   ? value.scalar<int32_t>() == 0
         : value.dtype() == DType::kInt64 ? value.scalar<int64_t>() == 0
                                          : false;
}

// Rows along the first axis of a reference that is on the same device.
bool GathersRowsOfReference(const Node& node) {
  const bool v2 = node.Is("GatherV2");
  if (!v2 && !node.Is("Gather")) return false;
  const Output& params = node.input(0);
  if (!IsRef(params.node->output_type(params.index))) return false;
  if (params.node->assigned_device() != node.assigned_device()) return false;
  int64_t batch_dims = 0;
  if (v2 && (!node.GetAttr("batch_dims", &batch_dims).ok() || batch_dims != 0 || !IsConstantZero(node.input(2))))
    return false;
  const DType indices = node.input(1).dtype();
  if (indices != DType::kInt32 && indices != DType::kInt64) return false;
  const StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  return device.ok() && device->type == "CPU";
}

StatusOr<Node*> AddGather(Graph& graph, const Node& of) {
  Graph::NodeSpec spec;
  spec.name = graph.UniqueName(absl::StrCat(of.name(), "/rows"));
  ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup("_GatherReference"));
  spec.attrs.Set("T", of.input(0).dtype());
  spec.attrs.Set("Tindices", of.input(1).dtype());
  spec.inputs = {of.input(0), of.input(1)};
  spec.control_inputs = of.control_inputs();
  spec.device = of.device();
  ASSIGN_OR_RETURN(Node * gather, graph.AddNode(std::move(spec)));
  gather->set_assigned_device(of.assigned_device());
  return gather;
}

}  // namespace

Status GatherFromReferences(PrunedGraph* part) {
  Graph& graph = *part->graph;
  std::vector<bool> is_target(static_cast<size_t>(graph.id_limit()), false);
  for (const Node* target : part->targets) is_target[static_cast<size_t>(target->id())] = true;
  Replacements gathers;
  const int limit = graph.id_limit();
  for (int id = 0; id < limit; ++id) {
    Node* const node = graph.nodes()[static_cast<size_t>(id)].get();
    if (node == nullptr || is_target[static_cast<size_t>(id)] || !GathersRowsOfReference(*node)) continue;
    ASSIGN_OR_RETURN(Node * gather, AddGather(graph, *node));
    gathers.Replace(Output(node), Output(gather));
    gathers.Drop(node, gather);
  }
  gathers.Apply(part);
  return OkStatus();
}

}  // namespace millstream
