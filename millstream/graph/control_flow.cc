// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/control_flow.h"

#include <algorithm>

namespace millstream {

bool IsLoopMerge(const Node& n) {
  return IsMerge(n) && std::any_of(n.inputs().begin(), n.inputs().end(), [](const Output& in) {
           return IsNextIteration(*in.node) || (IsEnter(*in.node) && !IsConstantEnter(*in.node));
         });
}

bool IsLoopSwitch(const Node& n) {
  return IsSwitch(n) && n.num_inputs() == 2 && IsA(*n.input(1).node, OpKind::kLoopCond);
}

bool IsConstantEnter(const Node& n) {
  bool constant = false;
  return IsEnter(n) && n.GetAttr("is_constant", &constant).ok() && constant;
}

namespace {

std::string FrameName(const LoopFrame* frame) { return frame == nullptr ? "" : frame->name; }

Status DifferentFrames(const Node& node, const Node& a, const LoopFrame* fa, const Node& b, const LoopFrame* fb) {
  return errors::InvalidArgument("{{node ", node.name(), "}} has inputs from different frames. The input {{node ",
                                 a.name(), "}} is in frame '", FrameName(fa), "'. The input {{node ", b.name(),
                                 "}} is in frame '", FrameName(fb), "'.");
}

}  // namespace

bool LoopFrame::IsInside(const LoopFrame* other) const {
  if (other == nullptr) return true;
  for (const LoopFrame* f = this; f != nullptr; f = f->parent)
    if (f == other) return true;
  return false;
}

StatusOr<ControlFlow> ControlFlow::Analyze(const Graph& graph) {
  ControlFlow flow;
  flow.frames_of_.assign(graph.id_limit(), nullptr);
  const bool loops = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                 [](const auto& n) { return n != nullptr && (IsEnter(*n) || IsExit(*n)); });
  if (!loops) return flow;
  ASSIGN_OR_RETURN(std::vector<Node*> order, graph.TopologicalOrder());
  for (Node* node : order) RETURN_IF_ERROR(flow.AddNode(node));
  RETURN_IF_ERROR(flow.FindVariables(graph));
  return flow;
}

Status ControlFlow::AddNode(Node* node) {
  const Node* first = nullptr;
  LoopFrame* frame = nullptr;
  const auto visit = [&](const Node* in) -> Status {
    if (IsFreeConstant(*in)) return OkStatus();  // there in every iteration of every loop
    if (first == nullptr) {
      first = in;
      frame = mutable_frame(in);
    } else if (mutable_frame(in) != frame) {
      return DifferentFrames(*node, *first, frame, *in, mutable_frame(in));
    }
    return OkStatus();
  };
  for (const Output& in : node->inputs()) {
    if (in.node == nullptr) return errors::InvalidArgument("Node '", node->name(), "' has a missing input");
    if (!(IsMerge(*node) && IsNextIteration(*in.node))) RETURN_IF_ERROR(visit(in.node));
  }
  for (const Node* in : node->control_inputs()) RETURN_IF_ERROR(visit(in));
  frames_of_[node->id()] = frame;
  if (IsEnter(*node)) return AddEnter(node);
  if (IsExit(*node)) {
    if (frame == nullptr) return errors::InvalidArgument("Node '", node->name(), "' is an Exit outside of any loop");
    frames_of_[node->id()] = const_cast<LoopFrame*>(frame->parent);
  } else if (IsA(*node, OpKind::kLoopCond) && frame != nullptr) {
    if (frame->loop_cond != nullptr) {
      return errors::InvalidArgument("Loop '", frame->name, "' has two LoopConds: '", frame->loop_cond->name(),
                                     "' and '", node->name(), "'");
    }
    frame->loop_cond = node;
  }
  return OkStatus();
}

Status ControlFlow::AddEnter(Node* node) {
  std::string name;
  RETURN_IF_ERROR(node->GetAttr("frame_name", &name));
  LoopFrame* outer = mutable_frame(node);
  LoopFrame*& frame = by_name_[name];
  if (frame == nullptr) {
    frames_.push_back(std::make_unique<LoopFrame>());
    frame = frames_.back().get();
    frame->name = name;
    frame->parent = outer;
    if (Status s = node->GetAttr("parallel_iterations", &frame->parallel_iterations); !s.ok()) return s;
  } else if (frame->parent != outer) {
    return errors::InvalidArgument("The node '", node->name(), "' enters loop '", name, "' from frame '",
                                   FrameName(outer), "', others from '", FrameName(frame->parent), "'");
  }
  frames_of_[node->id()] = frame;
  if (IsConstantEnter(*node)) frame->constants.push_back(node);
  return OkStatus();
}

Status ControlFlow::FindVariables(const Graph& graph) {
  std::unordered_map<const Node*, std::pair<LoopFrame*, size_t>> of_merge;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsMerge(*node)) continue;
    const auto is_next = [](const Output& in) { return IsNextIteration(*in.node); };
    if (std::none_of(node->inputs().begin(), node->inputs().end(), is_next)) continue;
    if (node->num_inputs() != 2)
      return errors::InvalidArgument("Node '", node->name(), "' merges a loop and must have two inputs");
    LoopVariable v;
    v.merge = node.get();
    for (const Output& in : node->inputs()) (IsNextIteration(*in.node) ? v.next : v.enter) = in.node;
    LoopFrame* frame = mutable_frame(v.merge);
    if (v.enter == nullptr || !IsEnter(*v.enter) || frame == nullptr || mutable_frame(v.next) != frame) {
      return errors::InvalidArgument("Node '", node->name(),
                                     "' does not merge an Enter and a NextIteration of one loop");
    }
    of_merge[v.merge] = {frame, frame->variables.size()};
    frame->variables.push_back(std::move(v));
  }
  const auto variable = [&](const Node* merge) -> LoopVariable* {
    auto it = of_merge.find(merge);
    return it == of_merge.end() ? nullptr : &it->second.first->variables[it->second.second];
  };
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsLoopSwitch(*node)) continue;
    LoopVariable* v = variable(node->input(0).node);
    if (v == nullptr) continue;
    if (v->merge_switch != nullptr) {
      return errors::InvalidArgument("Loop variable '", v->merge->name(), "' has two Switches: '",
                                     v->merge_switch->name(), "' and '", node->name(), "'");
    }
    v->merge_switch = node.get();
  }
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsExit(*node) || !IsLoopSwitch(*node->input(0).node)) continue;
    if (LoopVariable* v = variable(node->input(0).node->input(0).node)) v->exits.push_back(node.get());
  }
  return OkStatus();
}

namespace {

void Unite(BranchGuards::Guard* into, const BranchGuards::Guard& more) {
  for (const auto& g : more) {
    if (std::find(into->begin(), into->end(), g) == into->end()) into->push_back(g);
  }
}

// The node whose guard decides that of an Exit: what enters its loop.
const Node* EntranceOf(const Node& exit) {
  const Node* n = exit.input(0).node;
  if (IsSwitch(*n)) n = n->input(0).node;
  if (!IsMerge(*n)) return nullptr;
  for (const Output& in : n->inputs())
    if (IsEnter(*in.node)) return in.node;
  return nullptr;
}

}  // namespace

const BranchGuards::Guard& BranchGuards::Of(const Output& value) {
  const Node& node = *value.node;
  if (!IsSwitch(node) || IsLoopSwitch(node)) return OfNode(node);
  auto it = switched_.find(value);
  if (it != switched_.end()) return it->second;
  Guard guard = OfNode(node);
  Output pred = node.input(1);
  while (IsA(*pred.node, OpKind::kIdentity)) pred = pred.node->input(0);
  Unite(&guard, {{pred, value.index}});
  return switched_[value] = std::move(guard);
}

const BranchGuards::Guard& BranchGuards::OfNode(const Node& node) {
  // Depth-first without recursion: bodies of loops may be long chains.
  std::vector<std::pair<const Node*, bool>> stack = {{&node, false}};
  while (!stack.empty()) {
    auto [n, ready] = stack.back();
    stack.pop_back();
    if (nodes_.contains(n)) continue;
    if (ready) {
      nodes_[n] = ComputeNode(*n);
      continue;
    }
    stack.emplace_back(n, true);
    if (IsEnter(*n) || IsLoopMerge(*n)) continue;
    if (IsExit(*n)) {
      if (const Node* enter = EntranceOf(*n)) stack.emplace_back(enter->input(0).node, false);
      continue;
    }
    for (const Output& in : n->inputs()) stack.emplace_back(in.node, false);
    for (const Node* in : n->control_inputs()) stack.emplace_back(in, false);
  }
  return nodes_[&node];
}

BranchGuards::Guard BranchGuards::ComputeNode(const Node& node) {
  Guard guard;
  if (IsEnter(node) || IsLoopMerge(node)) return guard;
  if (IsExit(node)) {
    if (const Node* enter = EntranceOf(node)) guard = Of(enter->input(0));
    return guard;
  }
  if (IsMerge(node)) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Guard& in = Of(node.input(i));
      if (i == 0) guard = in;
      std::erase_if(guard, [&](const auto& g) { return std::find(in.begin(), in.end(), g) == in.end(); });
    }
  } else {
    for (const Output& in : node.inputs()) Unite(&guard, Of(in));
  }
  for (const Node* in : node.control_inputs()) Unite(&guard, OfNode(*in));
  return guard;
}

}  // namespace millstream
