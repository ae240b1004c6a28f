// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/sessions/session_graph.h"

#include "millstream/base/logging.h"
#include "millstream/graph/import/import.h"
#include "millstream/graph/passes/lower_control_flow.h"
#include "millstream/graph/placement/placement.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/function.pb.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

void LogPlacement(const Node& node) {
  LogInfo(absl::StrCat(node.name(), ": (", node.type(), "): ", node.assigned_device()));
}

// As with TensorFlow's executors.
bool LowersControlFlow(const SessionOptions& options) {
  return options.config == nullptr || options.config->experimental().executor_type() != "SINGLE_THREADED_EXECUTOR";
}

}  // namespace

SessionGraph::SessionGraph(const SessionOptions& options, std::vector<DeviceAttributes> devices,
                           std::string default_device)
    : options_(options),
      place_pruned_(options.config != nullptr && options.config->graph_options().place_pruned_graph()),
      default_device_(std::move(default_device)),
      library_(std::make_shared<FunctionLibrary>()),
      devices_(std::move(devices)),
      graph_(std::make_unique<Graph>(library_)) {}

Status SessionGraph::Create(const proto::GraphDef& graph) {
  MutexLock lock(mu_);
  if (created_) return errors::AlreadyExists("A Graph has already been created for this session.");
  created_ = true;
  return Add(graph);
}

Status SessionGraph::Extend(const proto::GraphDef& graph) {
  MutexLock lock(mu_);
  created_ = true;
  return Add(graph);
}

Status SessionGraph::ExtendVersion(const proto::GraphDef& graph, int64_t* version) {
  MutexLock lock(mu_);
  if (*version != version_) {
    return errors::Aborted("Current version is ", version_, " but caller expected ", *version, ".");
  }
  RETURN_IF_ERROR(Add(graph));
  *version = version_;
  return OkStatus();
}

void SessionGraph::VisitNodes(const std::function<bool(const Node&)>& visit) const {
  MutexLock lock(mu_);
  for (const auto& node : graph_->nodes()) {
    if (node != nullptr && !visit(*node)) return;
  }
}

std::vector<DeviceAttributes> SessionGraph::devices() const {
  MutexLock lock(mu_);
  return devices_;
}

void SessionGraph::AddDevices(const std::vector<DeviceAttributes>& devices) {
  MutexLock lock(mu_);
  devices_.insert(devices_.end(), devices.begin(), devices.end());
}

int64_t SessionGraph::version() const {
  MutexLock lock(mu_);
  return version_;
}

Status SessionGraph::Add(const proto::GraphDef& graph) {
  ImportOptions import;
  import.max_nodes = options_.max_graph_nodes;
  import.max_tensor_bytes = options_.max_tensor_bytes;
  const int first = graph_->id_limit();
  RETURN_IF_ERROR(ImportGraph(graph, import, graph_.get()));
  return Place(first);
}

Status SessionGraph::Extend(const Graph& graph) {
  MutexLock lock(mu_);
  created_ = true;
  if (graph.library() != nullptr && graph.library() != library_) {
    proto::FunctionDefLibrary functions;
    graph.library()->ToProto(&functions);
    RETURN_IF_ERROR(library_->AddLibrary(functions));
  }
  const int first = graph_->id_limit();
  std::vector<Node*> twin(static_cast<size_t>(graph.id_limit()), nullptr);
  std::vector<const Node*> fresh;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    twin[node->id()] = graph_->Find(node->name());
    if (twin[node->id()] != nullptr) continue;
    twin[node->id()] = graph_->AddCopy(*node, {}, {});
    fresh.push_back(node.get());
  }
  for (const Node* node : fresh) {
    std::vector<Output> inputs;
    for (const Output& in : node->inputs()) inputs.emplace_back(twin[in.node->id()], in.index);
    std::vector<Node*> control;
    for (const Node* in : node->control_inputs()) control.push_back(twin[in->id()]);
    graph_->SetInputs(twin[node->id()], std::move(inputs));
    graph_->SetControlInputs(twin[node->id()], std::move(control));
  }
  return Place(first);
}

Status SessionGraph::PlaceAll(Graph* graph, bool lowers_control_flow) const {
  PlacementOptions placement;
  placement.allow_soft_placement = options_.allow_soft_placement;
  placement.default_device = default_device_;
  placement.lowers_control_flow = lowers_control_flow;
  return PlaceGraph(devices_, placement, graph);
}

// What cannot be placed is taken out again: the session goes on without it.
Status SessionGraph::Place(int first_node) {
  if (!place_pruned_) {
    Status placed = PlaceAll(graph_.get(), LowersControlFlow(options_));
    if (!placed.ok()) {
      graph_->RemoveNodesFrom(first_node);
      return placed;
    }
  }
  ++version_;
  if (!options_.log_device_placement || place_pruned_) return OkStatus();
  for (int id = first_node; id < graph_->id_limit(); ++id) LogPlacement(*graph_->nodes()[id]);
  return OkStatus();
}

Status SessionGraph::PlacePruned(PrunedGraph* pruned) const {
  // What is fed does not run: where it wishes to be is no reason to fail.
  for (Node* arg : pruned->args) arg->set_device("");
  RETURN_IF_ERROR(PlaceAll(pruned->graph.get(), LowersControlFlow(options_)));
  for (const auto& node : pruned->graph->nodes()) {
    if (node == nullptr) continue;
    if (options_.log_device_placement) LogPlacement(*node);
    Node* const original = node->op().def.stateful ? graph_->Find(node->name()) : nullptr;
    if (original != nullptr) original->set_assigned_device(node->assigned_device());
  }
  return OkStatus();
}

Status SessionGraph::Lower(PrunedGraph* pruned) const {
  ASSIGN_OR_RETURN(bool changed, LowerControlFlow(pruned));
  if (changed) RemoveUnused(pruned);
  for (const auto& node : pruned->graph->nodes()) {
    if (node == nullptr || !IsLoweredControlFlow(*node)) continue;
    node->set_assigned_device("");  // stays whole: goes where its variables are, after all
    changed = true;
  }
  return changed ? PlaceAll(pruned->graph.get(), false) : OkStatus();
}

StatusOr<PrunedGraph> SessionGraph::PruneFor(const std::vector<std::string>& feeds,
                                             const std::vector<std::string>& fetches,
                                             const std::vector<std::string>& targets) const {
  if (fetches.empty() && targets.empty())
    return errors::InvalidArgument("Must specify at least one target to fetch or execute.");
  MutexLock lock(mu_);
  std::vector<Output> feed_outputs, fetch_outputs;
  std::vector<Node*> target_nodes;
  for (const std::string& name : feeds) {
    StatusOr<Output> out = graph_->FindOutput(name);
    if (!out.ok()) return errors::NotFound("FeedInputs: unable to find feed output ", name);
    feed_outputs.push_back(*out);
  }
  for (const std::string& name : fetches) {
    StatusOr<Output> out = graph_->FindOutput(name);
    if (!out.ok()) return errors::NotFound("FetchOutputs node ", name, ": not found");
    fetch_outputs.push_back(*out);
  }
  for (const std::string& name : targets) {
    Node* node = graph_->Find(name);
    if (node == nullptr) return errors::NotFound("PruneForTargets: Some target nodes not found: ", name);
    target_nodes.push_back(node);
  }
  ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(*graph_, feed_outputs, fetch_outputs, target_nodes));
  if (place_pruned_) RETURN_IF_ERROR(PlacePruned(&pruned));
  if (LowersControlFlow(options_)) RETURN_IF_ERROR(Lower(&pruned));
  return pruned;
}

}  // namespace millstream
