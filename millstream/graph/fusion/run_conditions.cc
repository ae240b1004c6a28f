// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/run_conditions.h"

#include <algorithm>

#include "millstream/graph/node_kind.h"

namespace millstream {
namespace {

constexpr int kRounds = 4;
// Beyond this many, sets are not told apart any more: each union is a set of its own.
constexpr size_t kMaxStored = 1 << 20;

}  // namespace

RunConditions::RunConditions(const Graph& graph, const std::vector<Node*>& order) {
  set_of_.resize(static_cast<size_t>(graph.id_limit()), 0);
  sets_.emplace_back();  // the empty set
  set_numbers_[Set()] = 0;
  FindLoops(order);
  AddInOrder(order);
  for (int round = 0; round < kRounds && AdjustLoops(); ++round) AddInOrder(order);
  if (!AdjustLoops()) return;
  for (LoopStart& loop : loops_) loop.alone = true;
  AddInOrder(order);
}

void RunConditions::FindLoops(const std::vector<Node*>& order) {
  for (const Node* node : order) {
    if (!IsMerge(*node)) continue;
    LoopStart loop{node};
    for (int i = 0; i < node->num_inputs(); ++i) (IsNextIteration(*node->input(i).node) ? loop.next : loop.enter) = i;
    if (loop.next < 0) continue;
    loop.alone = loop.enter < 0 || node->num_inputs() != 2;
    loop_of_[node] = loops_.size();
    loops_.push_back(loop);
  }
}

void RunConditions::AddInOrder(const std::vector<Node*>& order) {
  for (const Node* node : order) set_of_[static_cast<size_t>(node->id())] = SetOfNode(*node);
}

int RunConditions::SetOfNode(const Node& node) {
  switch (KindOf(node)) {
    case OpKind::kMerge: {
      const auto loop = loop_of_.find(&node);
      return loop == loop_of_.end() ? Single(Kind::kNode, node.id()) : SetOfLoop(loops_[loop->second]);
    }
    case OpKind::kExit:
    case OpKind::kControlTrigger:
      return Single(Kind::kNode, node.id());
    case OpKind::kEnter: {
      std::string frame;
      if (!node.GetAttr("frame_name", &frame).ok()) return Single(Kind::kNode, node.id());
      const int number = frames_.try_emplace(frame, static_cast<int>(frames_.size())).first->second;
      return Union(SetOfInputs(node), Single(Kind::kFrame, number));
    }
    default:
      return MayWait(node) ? Single(Kind::kNode, node.id()) : SetOfInputs(node);
  }
}

int RunConditions::SetOfLoop(const LoopStart& loop) {
  if (loop.alone) return Single(Kind::kNode, loop.merge->id());
  const int set = SetOf(loop.merge->input(loop.enter));
  return loop.cond == nullptr ? set : Union(set, Single(Kind::kLoop, loop.cond->id()));
}

int RunConditions::SetOfInputs(const Node& node) {
  int set = 0;
  for (const Output& in : node.inputs()) set = Union(set, SetOf(in));
  for (const Node* in : node.control_inputs()) set = Union(set, set_of_[static_cast<size_t>(in->id())]);
  return set;
}

int RunConditions::SetOf(const Output& output) {
  const int set = set_of_[static_cast<size_t>(output.node->id())];
  const OpKind kind = KindOf(*output.node);
  if ((kind != OpKind::kSwitch && kind != OpKind::kSwitchN) || output.node->num_inputs() < 2) return set;
  const Output& predicate = output.node->input(1);
  // The predicate's output and the branch in one number: both are small.
  const int branch = Single(Kind::kBranch, predicate.node->id(), predicate.index * (1 << 16) + output.index);
  predicates_.resize(conditions_.size(), nullptr);
  predicates_[static_cast<size_t>(sets_[static_cast<size_t>(branch)][0])] = predicate.node;
  return Union(set, branch);
}

// True if what was assumed of the loops has changed: that a loop's variables are all there in each of its iterations.
bool RunConditions::AdjustLoops() {
  bool changed = false;
  for (LoopStart& loop : loops_) {
    if (loop.alone) continue;
    const int start = Of(*loop.merge);
    const Node* cond = nullptr;
    bool fits = true;
    for (const int c : sets_[static_cast<size_t>(Of(*loop.merge->input(loop.next).node))]) {
      const auto& set = sets_[static_cast<size_t>(start)];
      if (std::binary_search(set.begin(), set.end(), c)) continue;
      const auto at = static_cast<size_t>(c);
      const Node* const predicate = at < predicates_.size() ? predicates_[at] : nullptr;
      const bool goes_on = predicate != nullptr && IsA(*predicate, OpKind::kLoopCond) && cond == nullptr &&
                           std::get<2>(conditions_[at]) == 1 && Includes(start, Of(*predicate));
      if (goes_on)
        cond = predicate;
      else
        fits = false;
    }
    fits = fits && cond != nullptr;
    changed |= !fits || cond != loop.cond;
    loop.alone = !fits;
    loop.cond = cond;
  }
  return changed;
}

// Whether the kernel may wait for something that the graph does not show, or runs nodes that may. Updates of variables
// will wait for reductions over a group (UpdateAfterReductions()).
bool RunConditions::MayWait(const Node& node) {
  const auto [known, is_new] = may_wait_.try_emplace(&node.op());
  if (is_new) {
    const OpKind kind = KindOf(node);
    const auto& kernels = node.op().kernels;
    known->second = kind == OpKind::kRecv || kind >= OpKind::kCall || node.op().Has(OpTrait::kMayBlock) ||
                    node.op().Has(OpTrait::kUpdates) ||
                    std::any_of(kernels.begin(), kernels.end(), [](const KernelDef& k) { return k.async; });
  }
  return known->second;
}

int RunConditions::Number(const Condition& condition) {
  const auto [known, is_new] = numbers_.try_emplace(condition, static_cast<int>(conditions_.size()));
  if (is_new) conditions_.push_back(condition);
  return known->second;
}

int RunConditions::Single(Kind kind, int a, int b) { return Intern({Number({kind, a, b})}); }

int RunConditions::Intern(Set set) {
  const auto known = set_numbers_.find(set);
  if (known != set_numbers_.end()) return known->second;
  if (set.size() > 1 && stored_ + set.size() > kMaxStored) return Single(Kind::kNone, static_cast<int>(sets_.size()));
  stored_ += set.size();
  const auto number = static_cast<int>(sets_.size());
  sets_.push_back(set);
  set_numbers_[std::move(set)] = number;
  return number;
}

int RunConditions::Union(int a, int b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  const std::pair<int, int> both(std::min(a, b), std::max(a, b));
  if (const auto known = unions_.find(both); known != unions_.end()) return known->second;
  const Set &x = sets_[static_cast<size_t>(a)], &y = sets_[static_cast<size_t>(b)];
  Set set;
  std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(set));
  return unions_[both] = Intern(std::move(set));
}

bool RunConditions::Includes(int set, int subset) const {
  const Set &all = sets_[static_cast<size_t>(set)], &some = sets_[static_cast<size_t>(subset)];
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace millstream
