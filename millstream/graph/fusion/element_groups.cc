// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/element_groups.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "millstream/framework/device_name.h"
#include "millstream/framework/element_ops.h"
#include "millstream/graph/fusion/fused_body.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

// Graphs with more nodes stay as they are: finding groups takes several times as long as the rest of their plan.
constexpr int kMaxNodes = 30000;
constexpr int kMaxMembers = 40;   // of one group
constexpr int kMaxOperands = 16;  // of one sum or concat

bool IsConstant(const Output& output) { return IsA(*output.node, OpKind::kConst); }

// True if a shape broadcasts to `to` and leaves it as it is, if what is not known of both is the same.
bool StaticallyFits(const PartialShape& shape, const PartialShape& to) {
  if (!shape.rank_known() || !to.rank_known() || shape.rank() > to.rank()) return false;
  for (int d = 1; d <= shape.rank(); ++d) {
    const int64_t dim = shape.dim(shape.rank() - d);
    if (dim != 1 && dim != to.dim(to.rank() - d)) return false;
  }
  return true;
}

bool HasFusedTypes(const Node& node) {
  const auto fused = [](const Output& in) { return IsFusedType(in.dtype()); };
  return node.num_outputs() == 1 && IsFusedType(node.output_type(0)) &&
         std::all_of(node.inputs().begin(), node.inputs().end(), fused);
}

// Casts that cut bits off are no formula.
bool IsPlainCast(const Node& node) {
  bool truncates = false;
  return !node.attrs().Has("Truncate") || (node.GetAttr("Truncate", &truncates).ok() && !truncates);
}

}  // namespace

bool IsFusedType(DType type) {
  return type == DType::kHalf || type == DType::kBfloat16 || type == DType::kFloat || type == DType::kDouble ||
         type == DType::kBool;
}

bool HasConstantPlaces(const Node& node, ElementRole role) {
  switch (role) {
    case ElementRole::kSplit:
      return IsConstant(node.input(0));
    case ElementRole::kSlice:
      return IsConstant(node.input(1)) && IsConstant(node.input(2));
    case ElementRole::kConcat:
      return IsConstant(node.input(node.num_inputs() - 1));
    default:
      return true;
  }
}

const std::string& FusingDevices::TypeOf(absl::string_view device) {
  const auto [known, is_new] = types_.try_emplace(std::string(device.data(), device.size()));
  if (!is_new) return known->second;
  const StatusOr<DeviceName> name = DeviceName::Parse(device);
  if (!name.ok() || !name->type) return known->second;
  const OpEntry* const op = OpRegistry::Global().Find(kFusedElements);
  if (op != nullptr && FindKernel(*op, *name->type, {}, "").ok()) known->second = *name->type;
  return known->second;
}

bool FusingDevices::CanRun(const Node& node) {
  const std::string& type = TypeOf(node.assigned_device());
  if (type != "CPU") return !type.empty() && FindKernel(node.op(), type, node.attrs(), node.name()).ok();
  const ElementOp* const op = FindElementOp(node.type());  // parts are not read in place there
  return op != nullptr && (op->role == ElementRole::kFormula || op->role == ElementRole::kSum);
}

ElementGroups::ElementGroups(const PrunedGraph& part) : part_(part), graph_(*part.graph), shapes_(graph_) {}

// Whether some op on elements reads what another one makes, or the parts that a split makes.
bool ElementGroups::HasPairs() {
  absl::flat_hash_map<const OpEntry*, bool> known;
  const auto is_element = [&](const Node& node) {
    const auto [it, is_new] = known.try_emplace(&node.op());
    if (is_new) it->second = FindElementOp(node.type()) != nullptr;
    return it->second;
  };
  return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const auto& node) {
    return node != nullptr && is_element(*node) && devices_.Has(node->assigned_device()) &&
           std::any_of(node->inputs().begin(), node->inputs().end(),
                       [&](const Output& in) { return is_element(*in.node); });
  });
}

StatusOr<std::vector<ElementGroups::Group>> ElementGroups::Find(bool single_ops) {
  if (graph_.num_nodes() > kMaxNodes || (!single_ops && !HasPairs())) return groups_;
  if (!shapes_.AddAll().ok()) return groups_;  // reported, if it matters, when the graph is run
  ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
  consumers_ = graph_.Consumers();
  const auto n = static_cast<size_t>(graph_.id_limit());
  kept_.resize(n, false);
  shape_.resize(n, -1);
  key_.resize(n, -1);
  waits_for_.resize(n, 0);
  gathered_.resize(n, -1);
  for (const Node* target : part_.targets) kept_[static_cast<size_t>(target->id())] = true;
  conditions_.emplace(graph_, order);
  FindCandidates(order);
  CountInputs();
  for (Node* node : order) {
    if (waits_for_[static_cast<size_t>(node->id())] == 0) Ready(node);
  }
  while (!plain_.empty() || !keys_.empty()) {
    if (!plain_.empty()) {
      Node* const node = plain_.front();
      plain_.pop_front();
      Finish(node);
      continue;
    }
    const int key = keys_.front();
    keys_.pop_front();
    Gather(key);
  }
  return std::move(groups_);
}

int ElementGroups::Number(std::string what) {
  return numbers_.try_emplace(std::move(what), static_cast<int>(numbers_.size())).first->second;
}

int ElementGroups::ShapeNumber(const Output& output) {
  if (output.index == 0 && shape_[static_cast<size_t>(output.node->id())] >= 0) {
    return shape_[static_cast<size_t>(output.node->id())];
  }
  const PartialShape shape = shapes_.shape(output);
  if (!shape.rank_known()) return Number(absl::StrCat("of ", output.node->id(), ":", output.index));
  const int number = Number(shape.ToString());
  shape_of_.try_emplace(number, shape);
  return number;
}

// The shape that an output has, or was guessed to have.
PartialShape ElementGroups::LikelyShape(const Output& output) {
  const auto known = shape_of_.find(ShapeNumber(output));
  return known == shape_of_.end() ? PartialShape() : known->second;
}

bool ElementGroups::MayMove(const Node& node) {
  const auto id = static_cast<size_t>(node.id());
  return IsPure(node) && !kept_[id] && devices_.CanRun(node);
}

bool ElementGroups::Fits(const Output& operand, const Output& to, bool broadcasts) {
  if (ShapeNumber(operand) == ShapeNumber(to)) return true;
  return broadcasts && StaticallyFits(LikelyShape(operand), LikelyShape(to));
}

// Guesses what an operand of unknown rank is (what is fed, or comes from a queue): as large as a matrix beside it,
// larger than a vector.
bool ElementGroups::GuessShape(const Node& node, bool broadcasts) {
  const Output *large = nullptr, *unknown = nullptr;
  for (const Output& in : node.inputs()) {
    const PartialShape shape = LikelyShape(in);
    if (!shape.rank_known())
      unknown = unknown == nullptr ? &in : unknown;
    else if ((shape.rank() > 1 || !broadcasts) && (large == nullptr || shape.rank() > LikelyShape(*large).rank()))
      large = &in;
  }
  if (unknown == nullptr) return false;
  const Output& to = large == nullptr ? *unknown : *large;
  for (const Output& in : node.inputs()) {
    const PartialShape shape = LikelyShape(in);
    if (!shape.rank_known() || Fits(in, to, broadcasts)) continue;
    if (large != nullptr || !broadcasts || shape.rank() > 1) return false;
  }
  shape_[static_cast<size_t>(node.id())] = ShapeNumber(to);
  return true;
}

// Also finds the number of its shape.
bool ElementGroups::IsCandidate(const Node& node) {
  const ElementOp* const op = FindElementOp(node.type());
  if (op == nullptr || (op->role != ElementRole::kFormula && op->role != ElementRole::kSum)) return false;
  if (node.num_inputs() == 0 || node.num_inputs() > kMaxOperands || !HasFusedTypes(node) || !IsPlainCast(node) ||
      !MayMove(node))
    return false;
  const Output result(const_cast<Node*>(&node));
  for (const Output& to : node.inputs()) {
    const auto fits = [&](const Output& in) { return Fits(in, to, op->broadcasts); };
    if (!std::all_of(node.inputs().begin(), node.inputs().end(), fits)) continue;
    shape_[static_cast<size_t>(node.id())] = ShapeNumber(to);
    return true;
  }
  // Each operand may be repeated along another dimension.
  if (op->broadcasts && shapes_.shape(result).IsFullyDefined()) return true;
  return GuessShape(node, op->broadcasts);
}

// Of nodes that may run together, if the elements they compute are those of `shaped`.
int ElementGroups::Key(const Node& node, const Output& shaped) {
  return Number(absl::StrCat(ShapeNumber(shaped), " if ", conditions_->Of(node), " on ", node.assigned_device()));
}

void ElementGroups::FindCandidates(const std::vector<Node*>& order) {
  for (Node* node : order) {
    if (IsCandidate(*node)) key_[static_cast<size_t>(node->id())] = Key(*node, Output(node));
  }
  ready_.resize(numbers_.size());
}

void ElementGroups::CountInputs() {
  for (const auto& node : graph_.nodes()) {
    if (node == nullptr) continue;
    int& count = waits_for_[static_cast<size_t>(node->id())];
    for (const Output& in : node->inputs()) count += IsNextIteration(*in.node) ? 0 : 1;
    count += static_cast<int>(node->control_inputs().size());
  }
}

void ElementGroups::Ready(Node* node) {
  const int key = key_[static_cast<size_t>(node->id())];
  if (key >= 0) {
    auto& queue = ready_[static_cast<size_t>(key)];
    if (queue.empty() && key != current_key_) keys_.push_back(key);
    queue.push_back(node);
  } else if (!IsConcatOfGroup(*node) || !Join(node)) {
    plain_.push_back(node);
  }
}

void ElementGroups::Finish(Node* node) {
  if (IsNextIteration(*node)) return;
  for (const Graph::Consumer& c : consumers_[static_cast<size_t>(node->id())]) {
    if (--waits_for_[static_cast<size_t>(c.node->id())] == 0) Ready(c.node);
  }
}

// Whether a concat that has just become ready has values of the current group, and of no other shape.
bool ElementGroups::IsConcatOfGroup(const Node& node) {
  const ElementOp* const op = current_key_ < 0 ? nullptr : FindElementOp(node.type());
  if (op == nullptr || op->role != ElementRole::kConcat || node.num_inputs() > kMaxOperands + 1) return false;
  if (!MayMove(node) || !HasConstantPlaces(node, op->role) || !IsFusedType(node.output_type(0))) return false;
  bool of_group = false;
  for (int i = 0; i + 1 < node.num_inputs(); ++i) {
    const Output& in = node.input(i);
    if (Key(node, in) != current_key_) return false;
    of_group |= gathered_[static_cast<size_t>(in.node->id())] >= 0;
  }
  return of_group;
}

int ElementGroups::FindRoot(int member) {
  while (root_[static_cast<size_t>(member)] != member) {
    int& root = root_[static_cast<size_t>(member)];
    root = root_[static_cast<size_t>(root)];
    member = root;
  }
  return member;
}

// False if the group would become too large.
bool ElementGroups::Join(Node* node) {
  std::vector<int> roots;
  int size = 1;
  for (const Output& in : node->inputs()) {
    const int member = gathered_[static_cast<size_t>(in.node->id())];
    if (member < 0) continue;
    const int root = FindRoot(member);
    if (std::find(roots.begin(), roots.end(), root) != roots.end()) continue;
    roots.push_back(root);
    size += size_[static_cast<size_t>(root)];
  }
  if (size > kMaxMembers) return false;
  const auto me = static_cast<int>(members_.size());
  for (const int root : roots) root_[static_cast<size_t>(root)] = me;
  members_.push_back(node);
  root_.push_back(me);
  size_.push_back(size);
  gathered_[static_cast<size_t>(node->id())] = me;
  Finish(node);
  return true;
}

// Takes all nodes of one queue that can run now, and those that can run then.
void ElementGroups::Gather(int key) {
  current_key_ = key;
  auto& queue = ready_[static_cast<size_t>(key)];
  std::deque<Node*> left;
  while (!queue.empty()) {
    Node* const node = queue.front();
    queue.pop_front();
    if (!Join(node)) left.push_back(node);
  }
  queue = std::move(left);
  if (!queue.empty()) keys_.push_back(key);
  current_key_ = -1;
  std::map<int, Group> by_root;
  for (size_t i = 0; i < members_.size(); ++i) by_root[FindRoot(static_cast<int>(i))].push_back(members_[i]);
  for (auto& [root, group] : by_root) groups_.push_back(std::move(group));
  for (const Node* node : members_) gathered_[static_cast<size_t>(node->id())] = -1;
  members_.clear();
  root_.clear();
  size_.clear();
}

}  // namespace millstream
