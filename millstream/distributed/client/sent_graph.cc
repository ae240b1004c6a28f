// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/client/sent_graph.h"

#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/import/export.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {

void SentGraph::Add(const proto::GraphDef& graph) {
  for (const proto::NodeDef& node : graph.node()) nodes_.insert(node.name());
  for (const proto::FunctionDef& function : graph.library().function()) functions_.insert(function.signature().name());
}

StatusOr<proto::GraphDef> SentGraph::Missing(const Graph& graph) const {
  proto::GraphDef missing;
  RETURN_IF_ERROR(ExportGraph(Graph(), &missing));  // the version
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || nodes_.contains(node->name())) continue;
    RETURN_IF_ERROR(ExportNode(*node, missing.add_node()));
  }
  if (graph.library() == nullptr) return missing;
  proto::FunctionDefLibrary library;
  graph.library()->ToProto(&library);
  for (proto::FunctionDef& function : *library.mutable_function()) {
    if (!functions_.contains(function.signature().name())) missing.mutable_library()->add_function()->Swap(&function);
  }
  if (missing.library().function_size() > 0) *missing.mutable_library()->mutable_gradient() = library.gradient();
  return missing;
}

}  // namespace millstream
