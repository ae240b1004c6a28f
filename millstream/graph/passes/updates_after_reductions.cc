// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "millstream/graph/control_flow.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/reserved_attrs.h"

namespace millstream {
namespace {

// Nodes have levels: a reduction that waits for updates (the loss after a training step, say) is of a later level than
// these, and has a gate of its own. So gates add no cycles.
class Gates {
 public:
  explicit Gates(PrunedGraph* part) : graph_(*part->graph) {}

  Status Run() {
    const auto is_reduction = [](const auto& node) { return node != nullptr && IsReduction(*node); };
    if (std::none_of(graph_.nodes().begin(), graph_.nodes().end(), is_reduction)) return OkStatus();
    ASSIGN_OR_RETURN(order_, graph_.TopologicalOrder());
    ASSIGN_OR_RETURN(const ControlFlow loops, ControlFlow::Analyze(graph_));
    marks_.resize(static_cast<size_t>(graph_.id_limit()));
    for (Node* node : order_) MarkNode(node, loops.frame(node) != nullptr);
    for (size_t i = order_.size(); i-- > 0;) MarkProducers(*order_[i]);
    for (Node* node : order_) {
      const Mark& mark = marks_[node->id()];
      if (mark.is_reduction && mark.feeds_update) gates_[mark.level].reductions.push_back(node);
      if (mark.is_update) gates_[mark.level].updates.push_back(node);
    }
    for (const auto& [level, gate] : gates_) {
      RETURN_IF_ERROR(Add(gate));
      if (!gate.updates.empty()) MarkTogether(gate, level);
    }
    return OkStatus();
  }

 private:
  struct Mark {
    int32_t level = 0;
    bool is_reduction = false;  // these two: outside of loops
    bool is_update = false;     // of what reductions of its level have given
    bool reduced = false;       // is such a reduction, or comes after one
    bool feeds_update = false;
    bool feeds_reduction = false;  // of its level
  };
  struct Gate {
    std::vector<Node*> reductions, updates;
  };

  static bool IsReduction(const Node& node) { return node.op().Has(OpTrait::kReducesOverGroup); }

  template <typename Visit>
  static void ForProducers(const Node& node, Visit visit) {
    for (const Output& in : node.inputs()) visit(*in.node);
    for (const Node* in : node.control_inputs()) visit(*in);
  }

  void MarkNode(const Node* node, bool in_loop) {
    Mark& mark = marks_[node->id()];
    ForProducers(*node, [&](const Node& from) {
      const Mark& before = marks_[from.id()];
      const int32_t level = before.level + (before.is_update ? 1 : 0);
      const bool reduced = before.reduced && !before.is_update;
      if (level == mark.level) mark.reduced |= reduced;
      if (level > mark.level) {
        mark.level = level;
        mark.reduced = reduced;
      }
    });
    if (in_loop) return;
    mark.is_reduction = IsReduction(*node);
    mark.is_update = mark.reduced && node->op().Has(OpTrait::kUpdates);
    mark.reduced |= mark.is_reduction;
  }

  void MarkProducers(const Node& node) {
    const Mark& mark = marks_[node.id()];
    const bool feeds_update = mark.is_update || mark.feeds_update;
    const bool feeds_reduction = mark.is_reduction || mark.feeds_reduction;
    ForProducers(node, [&](const Node& from) {
      Mark& before = marks_[from.id()];
      before.feeds_update |= feeds_update;
      before.feeds_reduction |= feeds_reduction && before.level == mark.level;
    });
  }

  // Reductions know how many others of their group they are waited for with. One that another one of the gate reads
  // cannot wait for that.
  void MarkTogether(const Gate& gate, int32_t level) {
    std::map<std::string, std::vector<Node*>> groups;
    for (Node* node : gate.reductions) {
      if (!marks_[node->id()].feeds_reduction) groups[GroupOf(*node)].push_back(node);
    }
    for (const auto& [group, nodes] : groups) {
      for (Node* node : nodes) {
        node->attrs().Set(kReductionsTogetherAttr, std::vector<int64_t>{static_cast<int64_t>(nodes.size()), level});
      }
    }
  }

  // The group's key, or what computes it.
  static std::string GroupOf(const Node& node) {
    int64_t key = 0;
    if (node.GetAttr("group_key", &key).ok()) return absl::StrCat(key);
    const auto& args = node.op().def.inputs;
    for (size_t i = 0; i < args.size() && i < node.inputs().size(); ++i) {
      const Output& in = node.input(static_cast<int>(i));
      if (args[i].name == "group_key" || args[i].name == "communicator")
        return absl::StrCat(in.node->name(), ":", in.index);
    }
    return "";
  }

  Status Add(const Gate& gate) {
    if (gate.updates.empty()) return OkStatus();
    const auto branches = [](const auto& node) { return node != nullptr && node->IsControlFlow(); };
    const bool has_branches = std::any_of(graph_.nodes().begin(), graph_.nodes().end(), branches);
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName("updates_after_reductions");
    // A reduction on a branch that was not taken does not keep other updates from being made.
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(has_branches ? "ControlTrigger" : "NoOp"));
    spec.attrs.Set(kCommitsStepAttr, true);
    spec.control_inputs = gate.reductions;
    spec.device = gate.updates.front()->device();
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
    node->set_assigned_device(gate.updates.front()->assigned_device());
    for (Node* update : gate.updates) graph_.AddControlInput(update, node);
    return OkStatus();
  }

  Graph& graph_;
  std::vector<Node*> order_;
  std::vector<Mark> marks_;  // by node id
  std::map<int32_t, Gate> gates_;
};

}  // namespace

Status UpdateAfterReductions(PrunedGraph* part) { return Gates(part).Run(); }

}  // namespace millstream
