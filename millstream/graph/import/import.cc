// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/import/import.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "millstream/base/memory_budget.h"
#include "millstream/graph/functions/function_library.h"
#include "millstream/graph/functions/node_import.h"
#include "millstream/graph/import/nesting.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

Status CheckVersions(const proto::VersionDef& versions) {
  if (versions.producer() < 0) {
    return errors::InvalidArgument("GraphDef producer version ", versions.producer(),
                                   " below min producer 0 supported by Millstream.");
  }
  if (versions.min_consumer() > kGraphDefVersion) {
    return errors::InvalidArgument("GraphDef min consumer version ", versions.min_consumer(), " above current version ",
                                   kGraphDefVersion, " of Millstream.  Please upgrade Millstream.");
  }
  const auto& bad = versions.bad_consumers();
  if (std::find(bad.begin(), bad.end(), kGraphDefVersion) != bad.end()) {
    return errors::InvalidArgument("GraphDef disallows consumer version ", kGraphDefVersion,
                                   ".  Please upgrade Millstream.");
  }
  return OkStatus();
}

Status CheckSize(const proto::GraphDef& def, const ImportOptions& options, const Graph& graph) {
  int64_t nodes = int64_t{graph.num_nodes()} + def.node_size();
  for (const auto& f : def.library().function()) nodes += f.node_def_size();
  // What a node takes beside its text, in the graph and in plans.
  constexpr int64_t kBytesPerNode = 1024;
  if (nodes <= options.max_nodes) {
    return CheckMemory(static_cast<int64_t>(def.ByteSizeLong()) + kBytesPerNode * def.node_size());
  }
  return errors::ResourceExhausted("The graph would have ", nodes, " nodes, at most ", options.max_nodes,
                                   " are allowed");
}

// "node" or "node:2". What is no number after the colon is taken as part of a name, which then does not exist.
bool ResolveInput(const Graph& graph, absl::string_view input, std::vector<Output>* inputs) {
  absl::string_view name = input;
  int port = 0;
  const size_t colon = input.rfind(':');
  if (colon != absl::string_view::npos) {
    const absl::string_view digits = input.substr(colon + 1);
    const bool number = !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
    if (!number || !absl::SimpleAtoi(digits, &port)) return false;
    name = input.substr(0, colon);
  }
  Node* node = graph.Find(name);
  if (node == nullptr) return false;
  inputs->push_back(Output(node, port));
  return true;
}

// Producers up to this one wrote a shape that nobody knows like that of a scalar.
constexpr int kLastWithoutUnknownShapes = 21;

void ForgetShapeOfPlaceholder(Node* node) {
  PartialShape shape;
  if (node->Is("Placeholder") && node->GetAttr("shape", &shape).ok() && shape.rank() == 0)
    node->attrs().Set("shape", PartialShape());
}

Status ImportNodes(const proto::GraphDef& def, const ImportOptions& options, Graph* graph) {
  NodeImporter importer(options, graph, graph->library().get());
  std::vector<Node*> nodes;
  nodes.reserve(static_cast<size_t>(def.node_size()));
  for (const auto& node_def : def.node()) {
    ASSIGN_OR_RETURN(Node * node, importer.Add(node_def));
    if (def.versions().producer() <= kLastWithoutUnknownShapes) ForgetShapeOfPlaceholder(node);
    nodes.push_back(node);
  }
  for (int i = 0; i < def.node_size(); ++i) {
    RETURN_IF_ERROR(importer.Connect(
        nodes[i], def.node(i),
        [graph](absl::string_view input, std::vector<Output>* inputs) { return ResolveInput(*graph, input, inputs); }));
  }
  return importer.CheckAcyclic();
}

}  // namespace

Status ImportGraph(const proto::GraphDef& def, const ImportOptions& options, Graph* graph) {
  RETURN_IF_ERROR(CheckVersions(def.versions()));
  RETURN_IF_ERROR(CheckNesting(def));
  RETURN_IF_ERROR(CheckSize(def, options, *graph));
  const int first_id = graph->id_limit();
  const bool was_empty = graph->num_nodes() == 0;
  if (graph->library() == nullptr && def.has_library()) graph->set_library(std::make_shared<FunctionLibrary>());
  std::vector<std::string> added;
  if (def.has_library()) RETURN_IF_ERROR(graph->library()->AddLibrary(def.library(), &added));
  if (Status s = ImportNodes(def, options, graph); !s.ok()) {
    graph->RemoveNodesFrom(first_id);
    if (!added.empty()) graph->library()->Remove(added);
    return s;
  }
  const int64_t producer = def.versions().producer();
  graph->set_producer_version(was_empty ? producer : std::min(producer, graph->producer_version()));
  return OkStatus();
}

}  // namespace millstream
