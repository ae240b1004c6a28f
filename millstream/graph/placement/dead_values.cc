// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/dead_values.h"

#include <algorithm>
#include <iterator>

#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

// Conditions deeper than this are not followed: a graph must not be able to make guards long.
constexpr size_t kMostConditions = 16;

}  // namespace

bool DeadValues::IsSwitching(const Node& node) { return IsSwitch(node) || IsA(node, OpKind::kSwitchN); }

DeadValues::DeadValues(const Graph& graph, const std::vector<Node*>& order, const ControlFlow& flow)
    : guards_of_(static_cast<size_t>(graph.id_limit()), kLive), original_(static_cast<size_t>(graph.id_limit())) {
  const bool switches = std::any_of(order.begin(), order.end(), [](const Node* n) { return IsSwitching(*n); });
  if (!switches) return;
  guards_.resize(2);
  numbers_[Guard()] = kLive;
  for (Node* node : order) {
    const Output from = IsA(*node, OpKind::kIdentity) ? node->input(0) : Output(node);
    original_[node->id()] = from.node != node && from.index == 0 ? original_[from.node->id()] : from;
    guards_of_[node->id()] = OfNode(*node, flow);
  }
  for (const auto& [frame, loop] : loops_) unsure_ |= loop.exited && loop.assumed != loop.entrance;
}

int DeadValues::Number(Guard guard) {
  if (guard.size() > kMostConditions) return kUnknown;
  auto [it, inserted] = numbers_.try_emplace(guard, static_cast<int>(guards_.size()));
  if (inserted) guards_.push_back(std::move(guard));
  return it->second;
}

// Both must hold.
int DeadValues::Unite(int a, int b) {
  if (a == b || b == kLive) return a;
  if (a == kLive) return b;
  if (a == kUnknown || b == kUnknown) return kUnknown;
  const auto key = std::minmax(a, b);
  if (auto it = united_.find(key); it != united_.end()) return it->second;
  Guard both;
  std::set_union(guards_[a].begin(), guards_[a].end(), guards_[b].begin(), guards_[b].end(), std::back_inserter(both));
  return united_[key] = Number(std::move(both));
}

// One of them must hold; told where one implies the other, or where they are the two sides of one Switch.
int DeadValues::Join(int a, int b) {
  if (a == b || a == kLive) return a;
  if (b == kLive) return b;
  if (a == kUnknown || b == kUnknown) return kUnknown;
  const Guard& x = guards_[a];
  const Guard& y = guards_[b];
  Guard common, only_x, only_y;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
  std::set_difference(x.begin(), x.end(), common.begin(), common.end(), std::back_inserter(only_x));
  std::set_difference(y.begin(), y.end(), common.begin(), common.end(), std::back_inserter(only_y));
  if (only_x.empty()) return a;
  if (only_y.empty()) return b;
  const bool sides = only_x.size() == 1 && only_y.size() == 1 && std::get<0>(only_x[0]) == std::get<0>(only_y[0]) &&
                     std::get<1>(only_x[0]) == std::get<1>(only_y[0]);
  return sides ? Number(std::move(common)) : kUnknown;
}

int DeadValues::OfOutput(const Output& value) {
  const Node& node = *value.node;
  const int guard = guards_of_[node.id()];
  if (!IsSwitching(node)) return guard;
  if (!IsSwitch(node)) return kUnknown;
  Output pred = node.input(1);
  if (pred.index == 0) pred = original_[pred.node->id()];
  return Unite(guard, Number({{pred.node->id(), pred.index, value.index}}));
}

int DeadValues::OfInputs(const Node& node) {
  int guard = kLive;
  for (const Output& in : node.inputs()) guard = Unite(guard, OfOutput(in));
  for (const Node* in : node.control_inputs()) guard = Unite(guard, guards_of_[in->id()]);
  return guard;
}

int DeadValues::OfMerge(const Node& node) {
  int guard = node.num_inputs() == 0 ? kUnknown : OfOutput(node.input(0));
  for (int i = 1; i < node.num_inputs(); ++i) guard = Join(guard, OfOutput(node.input(i)));
  for (const Node* in : node.control_inputs()) guard = Unite(guard, guards_of_[in->id()]);
  return guard;
}

// A loop whose variables go on whenever its condition is true ends with a value for each Exit.
int DeadValues::OfExit(const Node& node, const ControlFlow& flow) {
  const LoopFrame* frame = flow.frame(node.input(0).node);
  if (frame == nullptr || frame->loop_cond == nullptr) return kUnknown;
  if (OfInputs(node) != Number({{frame->loop_cond->id(), 0, 0}})) return kUnknown;
  Loop& loop = loops_[frame];
  if (!loop.exited) loop.assumed = loop.entrance;
  loop.exited = true;
  return loop.assumed;
}

void DeadValues::CheckNext(int guard, const LoopFrame* frame) {
  if (guard == kLive ||
      (frame != nullptr && frame->loop_cond != nullptr && guard == Number({{frame->loop_cond->id(), 0, 1}})))
    return;
  unsure_ = true;
}

int DeadValues::OfNode(const Node& node, const ControlFlow& flow) {
  if (IsA(node, OpKind::kControlTrigger)) return kLive;  // runs even then
  if (!node.IsControlFlow()) return OfInputs(node);
  if (IsExit(node)) return OfExit(node, flow);
  if (IsEnter(node)) {
    Loop& loop = loops_[flow.frame(&node)];
    loop.entrance = Unite(loop.entrance, OfInputs(node));
    return kLive;
  }
  if (IsNextIteration(node)) {
    CheckNext(OfInputs(node), flow.frame(&node));
    return kLive;
  }
  if (IsLoopMerge(node)) return kLive;
  return IsMerge(node) ? OfMerge(node) : OfInputs(node);
}

}  // namespace millstream
