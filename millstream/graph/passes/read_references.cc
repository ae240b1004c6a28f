// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "millstream/graph/control_flow.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/passes.h"

namespace millstream {
namespace {

class LateReads {
 public:
  explicit LateReads(Graph* graph) : graph_(*graph) {}

  void Run() {
    CarryReferences();
    for (const auto& node : graph_.nodes()) {
      // What moves values between frames hands them on as they are.
      if (node == nullptr || node->IsControlFlow()) continue;
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Read read = ReadBy(*node, i);
        if (!read.variable) continue;
        for (Node* before : read.after) graph_.AddControlInput(node.get(), before);
        graph_.SetInput(node.get(), i, read.variable);
      }
    }
  }

 private:
  struct Read {
    Output variable;  // empty if there is none
    std::vector<Node*> after;
  };

  // The variable behind an input: behind "v/read", an Identity of a reference, or carried into a loop or branch.
  Read ReadBy(const Node& node, int input) const {
    const Output& in = node.input(input);
    if (in.node->assigned_device() != node.assigned_device()) return {};
    if (auto it = carried_.find(in); it != carried_.end()) return {it->second, {}};
    if (!IsA(*in.node, OpKind::kIdentity) || in.node->num_inputs() != 1) return {};
    const Output& from = in.node->input(0);
    const bool here = from.node->assigned_device() == node.assigned_device();
    if (!here || !IsRef(from.node->output_type(from.index))) return {};
    return {from, in.node->control_inputs()};
  }

  static bool IsCarrier(const Node& node) { return !IsRefTwin(node) && (IsSwitch(node) || IsConstantEnter(node)); }

  // Beside what brings such a read into a loop or branch, the same for the reference itself. Where that fails, the
  // value stays what it was when the loop began.
  void CarryReferences() {
    bool any = false;
    for (const auto& node : graph_.nodes()) any |= node != nullptr && IsCarrier(*node);
    if (!any) return;
    const StatusOr<std::vector<Node*>> order = graph_.TopologicalOrder();
    if (!order.ok()) return;  // reported when the graph is compiled
    for (Node* node : *order) {
      if (!IsCarrier(*node)) continue;
      Read read = ReadBy(*node, 0);
      if (read.variable) AddTwin(node, std::move(read)).IgnoreError();
    }
  }

  Status AddTwin(Node* of, Read read) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(of->name(), "/reference"));
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(IsEnter(*of) ? "RefEnter" : "RefSwitch"));
    spec.attrs = of->attrs();
    spec.inputs = of->inputs();
    spec.inputs[0] = read.variable;
    spec.control_inputs = of->control_inputs();
    spec.control_inputs.insert(spec.control_inputs.end(), read.after.begin(), read.after.end());
    spec.device = of->device();
    ASSIGN_OR_RETURN(Node * twin, graph_.AddNode(std::move(spec)));
    twin->set_assigned_device(of->assigned_device());
    for (int i = 0; i < of->num_outputs(); ++i) carried_[Output(of, i)] = Output(twin, i);
    return OkStatus();
  }

  Graph& graph_;
  std::unordered_map<Output, Output, OutputHash> carried_;
};

}  // namespace

void ReadReferencesLate(PrunedGraph* part) { LateReads(part->graph.get()).Run(); }

}  // namespace millstream
