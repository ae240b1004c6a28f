// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/worker/register_part.h"

#include "millstream/graph/import/export.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/placement/placement.h"
#include "millstream/proto/task.pb.h"

namespace millstream {

Status PartToProto(const GraphPart& part, proto::RegisterPartRequest* request) {
  proto::GraphDef* graph = request->mutable_graph();
  ExportOptions options;
  options.assigned_devices = true;
  RETURN_IF_ERROR(ExportGraph(*part.graph.graph, graph, options));
  // Arguments travel as placeholders, which the receiver feeds: a program never contains _Arg.
  for (auto& node : *graph->mutable_node()) {
    const Node* const exported = part.graph.graph->Find(node.name());
    if (exported == nullptr || !IsA(*exported, OpKind::kArg)) continue;
    const auto type = node.attr().at("T");
    node.set_op("Placeholder");
    node.clear_device();  // it may be fed for several tasks
    node.clear_attr();
    (*node.mutable_attr())["dtype"] = type;
  }
  for (const Node* arg : part.graph.args) {
    auto* message = request->add_arg();
    message->set_name(arg->name());
    message->set_dtype(static_cast<proto::DataType>(RemoveRef(arg->output_type(0))));
  }
  for (const Output& ret : part.graph.rets) request->add_ret(ret.name());
  for (const Node* target : part.graph.targets) request->add_target(target->name());
  return OkStatus();
}

StatusOr<PrunedGraph> PartFromProto(const proto::RegisterPartRequest& request,
                                    const std::vector<DeviceAttributes>& devices,
                                    std::shared_ptr<FunctionLibrary> library) {
  Graph graph(std::move(library));
  ImportOptions import;
  import.max_tensor_bytes = int64_t{64} << 30;
  import.max_graph_bytes = int64_t{256} << 30;
  import.is_part = true;
  RETURN_IF_ERROR(ImportGraph(request.graph(), import, &graph));
  RETURN_IF_ERROR(PlaceGraph(devices, {}, &graph));
  std::vector<Output> feeds, fetches;
  std::vector<Node*> targets;
  for (const auto& arg : request.arg()) {
    ASSIGN_OR_RETURN(Output out, graph.FindOutput(arg.name()));
    feeds.push_back(out);
  }
  for (const std::string& name : request.ret()) {
    ASSIGN_OR_RETURN(Output out, graph.FindOutput(name));
    fetches.push_back(out);
  }
  for (const std::string& name : request.target()) {
    Node* node = graph.Find(name);
    if (node == nullptr) return errors::NotFound("No node ", name, " in the part");
    targets.push_back(node);
  }
  return Prune(graph, feeds, fetches, targets);
}

}  // namespace millstream
