// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/plan_frames.h"

#include <map>

#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

class FramePlanner {
 public:
  FramePlanner(const std::vector<int32_t>& index, Plan* plan) : index_(index), plan_(*plan) {}

  Status Run() {
    plan_.frames.resize(1);
    plan_.child_frame.assign(plan_.nodes.size(), -1);
    plan_.node_in_frame.assign(plan_.nodes.size(), 0);
    RETURN_IF_ERROR(CheckCounts());
    for (size_t i = 0; i < plan_.nodes.size(); ++i) RETURN_IF_ERROR(AssignFrame(static_cast<int32_t>(i)));
    RETURN_IF_ERROR(AssignSlots());
    AddEdges();
    AddWaits();
    return OkStatus();
  }

 private:
  // Edges and waits have 16 bits for the number of an input or output, and -1.
  Status CheckCounts() const {
    for (const PlanNode& item : plan_.nodes) {
      if (item.num_inputs <= INT16_MAX && item.num_outputs <= INT16_MAX) continue;
      return errors::InvalidArgument("{{node ", item.node->name(), "}} has ", item.num_inputs, " inputs and ",
                                     item.num_outputs, " outputs; with loops or branches, at most ", INT16_MAX,
                                     " are possible");
    }
    return OkStatus();
  }

  int32_t OutFrame(int32_t i) const {
    const PlanNode& node = plan_.nodes[i];
    if (plan_.child_frame[i] >= 0) return plan_.child_frame[i];
    if (node.kind == NodeKind::kExit) return plan_.frames[node.frame].parent;
    return node.frame;
  }

  bool IsBackEdge(const Node& from, const PlanNode& to) const {
    const int32_t p = index_[from.id()];
    return to.kind == NodeKind::kMerge && p >= 0 && plan_.nodes[p].kind == NodeKind::kNextIteration;
  }

  // Nodes come in topological order, so their producers have frames already.
  Status AssignFrame(int32_t i) {
    PlanNode& item = plan_.nodes[i];
    int32_t frame = -1;
    const auto join = [&](const Node& from) -> Status {
      const int32_t p = index_[from.id()];
      if (p < 0 || IsBackEdge(from, item)) return OkStatus();
      const int32_t f = OutFrame(p);
      if (frame >= 0 && f != frame) {
        return errors::InvalidArgument(
            "{{node ", item.node->name(), "}} has inputs from different frames. The input {{node ", from.name(),
            "}} is in frame '", plan_.frames[f].name, "'. Another input is in frame '", plan_.frames[frame].name, "'.");
      }
      frame = f;
      return OkStatus();
    };
    for (const Output& in : item.node->inputs()) RETURN_IF_ERROR(join(*in.node));
    for (const Node* in : item.node->control_inputs()) RETURN_IF_ERROR(join(*in));
    item.frame = std::max(frame, 0);
    plan_.node_in_frame[i] = static_cast<int32_t>(plan_.frames[item.frame].nodes.size());
    plan_.frames[item.frame].nodes.push_back(i);
    if (item.kind == NodeKind::kExit) {
      if (item.frame == 0)
        return errors::InvalidArgument("{{node ", item.node->name(), "}} is an Exit outside any loop");
      plan_.frames[item.frame].exits.push_back(i);
    }
    if (item.kind == NodeKind::kNextIteration && item.frame == 0) {
      return errors::InvalidArgument("{{node ", item.node->name(), "}} is a NextIteration outside any loop");
    }
    if (item.kind == NodeKind::kEnter || item.kind == NodeKind::kConstantEnter) return OpenFrame(i);
    return OkStatus();
  }

  Status OpenFrame(int32_t i) {
    const PlanNode& item = plan_.nodes[i];
    std::string name;
    int64_t parallel = 10;
    RETURN_IF_ERROR(item.node->GetAttr("frame_name", &name));
    RETURN_IF_ERROR(item.node->GetAttr("parallel_iterations", &parallel));
    auto [it, inserted] = children_.try_emplace({item.frame, name}, static_cast<int32_t>(plan_.frames.size()));
    if (inserted) {
      PlanFrame frame;
      frame.name = name;
      for (const char c : name) frame.name_hash = (frame.name_hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
      frame.parent = item.frame;
      frame.parallel_iterations = static_cast<int32_t>(std::clamp<int64_t>(parallel, 1, 1 << 20));
      plan_.frames.push_back(std::move(frame));
    }
    plan_.child_frame[i] = it->second;
    ++plan_.frames[it->second].num_enters;
    return OkStatus();
  }

  Status AssignSlots() {
    plan_.slot_in_frame.assign(static_cast<size_t>(plan_.num_slots), -1);
    for (const int32_t slot : plan_.arg_slots) plan_.slot_in_frame[slot] = plan_.frames[0].num_slots++;
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& item = plan_.nodes[i];
      PlanFrame& frame = plan_.frames[OutFrame(static_cast<int32_t>(i))];
      for (int o = 0; o < item.num_outputs; ++o) plan_.slot_in_frame[item.outputs + o] = frame.num_slots++;
      if (item.fetched && &frame != &plan_.frames[0]) {
        return errors::InvalidArgument("{{node ", item.node->name(), "}} is inside a while loop and cannot be fetched");
      }
    }
    for (const PlanNode& item : plan_.nodes) {
      for (const Output& in : item.node->inputs()) {
        if (IsA(*in.node, OpKind::kArg) && item.frame != 0) {
          return errors::InvalidArgument("'", in.node->name(), "' is fed into a while loop");
        }
      }
    }
    return OkStatus();
  }

  void AddEdges() {
    std::vector<std::vector<PlanEdge>> out(plan_.nodes.size());
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const Node& node = *plan_.nodes[i].node;
      for (int k = 0; k < node.num_inputs(); ++k) {
        const int32_t p = index_[node.input(k).node->id()];
        if (p >= 0)
          out[p].push_back(
              {static_cast<int32_t>(i), static_cast<int16_t>(node.input(k).index), static_cast<int16_t>(k)});
      }
      for (const Node* in : node.control_inputs()) {
        const int32_t p = index_[in->id()];
        if (p >= 0) out[p].push_back({static_cast<int32_t>(i), -1, -1});
      }
    }
    for (const auto& edges : out) {
      plan_.edges_begin.push_back(static_cast<int32_t>(plan_.edges.size()));
      plan_.edges.insert(plan_.edges.end(), edges.begin(), edges.end());
    }
    plan_.edges_begin.push_back(static_cast<int32_t>(plan_.edges.size()));
  }

  void AddWaits() {
    for (PlanFrame& frame : plan_.frames) {
      for (const int32_t i : frame.nodes) {
        NodeWait first, later;
        CountInputs(plan_.nodes[i], &first, &later);
        frame.first_wait.push_back(first);
        frame.later_wait.push_back(later);
      }
    }
  }

  void CountInputs(const PlanNode& item, NodeWait* first, NodeWait* later) {
    const bool merge = item.kind == NodeKind::kMerge;
    bool loop = false;
    for (int k = 0; k < item.num_inputs; ++k) {
      const Node& from = *item.node->input(k).node;
      if (index_[from.id()] < 0) {  // a constant or argument is always there
        if (merge && first->live < 0) first->live = later->live = static_cast<int16_t>(k);
      } else if (!merge) {
        ++first->pending;
      } else if (IsBackEdge(from, item)) {
        loop = true;
        ++later->dead_left;
      } else {
        ++first->dead_left;
      }
    }
    for (const Node* in : item.node->control_inputs()) first->pending += index_[in->id()] >= 0;
    later->pending = first->pending;
    if (!loop) later->dead_left = first->dead_left;
  }

  const std::vector<int32_t>& index_;
  Plan& plan_;
  std::map<std::pair<int32_t, std::string>, int32_t> children_;
};

}  // namespace

Status PlanFrames(const std::vector<int32_t>& index, Plan* plan) { return FramePlanner(index, plan).Run(); }

}  // namespace millstream
