// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/prune.h"

#include <algorithm>
#include <unordered_map>

#include "millstream/base/memory_budget.h"
#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

using FedMap = std::unordered_map<Output, Node*, OutputHash>;

// A placeholder that is fed need not run: who waits for it waits for nothing.
bool IsFedPlaceholder(Node* node, const FedMap& fed) {
  return IsA(*node, OpKind::kPlaceholder) && fed.contains(Output(node, 0));
}

// Marks everything that must run. Iterative: graphs are deeper than stacks.
std::vector<bool> Reachable(const Graph& graph, const FedMap& fed, const std::vector<Output>& fetches,
                            const std::vector<Node*>& targets) {
  std::vector<bool> needed(static_cast<size_t>(graph.id_limit()), false);
  std::vector<const Node*> stack;
  const auto visit = [&](const Node* node) {
    if (needed[node->id()]) return;
    needed[node->id()] = true;
    stack.push_back(node);
  };
  for (const Output& out : fetches)
    if (!fed.contains(out)) visit(out.node);
  for (const Node* node : targets) visit(node);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Output& in : node->inputs())
      if (fed.empty() || !fed.contains(in)) visit(in.node);
    for (Node* in : node->control_inputs())
      if (!IsFedPlaceholder(in, fed)) visit(in);
  }
  return needed;
}

StatusOr<FedMap> AddArgs(const std::vector<Output>& feeds, PrunedGraph* out) {
  FedMap fed;
  const auto arg_op = OpRegistry::Global().Lookup("_Arg");
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (fed.contains(feeds[i]))
      return errors::InvalidArgument("Endpoint \"", feeds[i].name(), "\" fed more than once.");
    RETURN_IF_ERROR(arg_op.status());
    Graph::NodeSpec spec;
    spec.name = absl::StrCat("_arg_", i, "_", feeds[i].node->name(), "_", feeds[i].index);
    spec.op = *arg_op;
    spec.attrs.Set("T", feeds[i].dtype());
    spec.attrs.Set("index", static_cast<int64_t>(i));
    spec.device = feeds[i].node->device();
    ASSIGN_OR_RETURN(Node * arg, out->graph->AddNode(std::move(spec)));
    arg->set_assigned_device(feeds[i].node->assigned_device());
    out->args.push_back(arg);
    fed.emplace(feeds[i], arg);
  }
  return fed;
}

}  // namespace

StatusOr<PrunedGraph> Prune(const Graph& graph, const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                            const std::vector<Node*>& targets) {
  PrunedGraph out;
  out.graph = std::make_unique<Graph>(graph.library());
  out.graph->set_producer_version(graph.producer_version());
  ASSIGN_OR_RETURN(FedMap fed, AddArgs(feeds, &out));
  const std::vector<bool> needed = Reachable(graph, fed, fetches, targets);
  constexpr int64_t kBytesPerNode = 1024;  // about what a node of a plan takes
  RETURN_IF_ERROR(CheckMemory(kBytesPerNode * std::count(needed.begin(), needed.end(), true)));

  std::vector<Node*> twin(static_cast<size_t>(graph.id_limit()), nullptr);
  for (const auto& node : graph.nodes()) {
    if (node != nullptr && needed[node->id()]) twin[node->id()] = out.graph->AddCopy(*node, {}, {});
  }
  const auto mapped = [&](const Output& o) {
    if (!fed.empty()) {
      auto it = fed.find(o);
      if (it != fed.end()) return Output(it->second, 0);
    }
    return Output(twin[o.node->id()], o.index);
  };
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !needed[node->id()]) continue;
    std::vector<Output> inputs;
    inputs.reserve(node->inputs().size());
    for (const Output& in : node->inputs()) inputs.push_back(mapped(in));
    std::vector<Node*> control;
    control.reserve(node->control_inputs().size());
    for (Node* in : node->control_inputs())
      if (!IsFedPlaceholder(in, fed)) control.push_back(twin[in->id()]);
    out.graph->SetInputs(twin[node->id()], std::move(inputs));
    out.graph->SetControlInputs(twin[node->id()], std::move(control));
  }
  for (const Output& o : fetches) out.rets.push_back(mapped(o));
  for (const Node* node : targets) out.targets.push_back(twin[node->id()]);
  return out;
}

}  // namespace millstream
