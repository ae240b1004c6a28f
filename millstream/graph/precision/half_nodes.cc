// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/precision/half_nodes.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "millstream/framework/device_name.h"
#include "millstream/framework/precision_class.h"

namespace millstream {
namespace {

bool HasReferences(const OpDef& op) {
  const auto is_ref = [](const ArgDef& arg) { return arg.is_ref; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), is_ref) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), is_ref);
}

// The 16-bit type that a kernel of the node's device could work with.
DType TypeFor(const MixedPrecision& types, const Node& node) {
  DType now = DType::kInvalid;
  if (node.IsStateful() || node.IsControlFlow() || HasReferences(node.op().def)) return DType::kInvalid;
  if (!node.GetAttr(kPrecisionAttr, &now).ok() || now != DType::kFloat) return DType::kInvalid;
  const StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  if (!device.ok() || !device->type) return DType::kInvalid;
  const DType half = types.ForDevice(*device->type);
  if (half == DType::kInvalid) return half;
  AttrMap attrs = node.attrs();
  attrs.Set(kPrecisionAttr, half);
  return FindKernel(node.op(), *device->type, attrs, node.name()).ok() ? half : DType::kInvalid;
}

class Chooser {
 public:
  Chooser(const MixedPrecision& types, const PrunedGraph& part)
      : nodes_(part.graph->nodes()), consumers_(part.graph->Consumers()) {
    chosen_.resize(nodes_.size(), DType::kInvalid);
    possible_.resize(nodes_.size(), DType::kInvalid);
    classes_.resize(nodes_.size());
    for (const auto& node : nodes_) {
      if (node == nullptr) continue;
      classes_[Id(*node)] = FindPrecisionClass(node->type());
      if (classes_[Id(*node)]) possible_[Id(*node)] = TypeFor(types, *node);
    }
    for (const Node* node : part.targets) possible_[Id(*node)] = DType::kInvalid;
  }

  std::vector<DType> Choose() {
    const Marks denied = Spread(Marked([this](size_t i) { return classes_[i] == PrecisionClass::kDeny; }), true, {});
    const Marks allowed =
        Marked([this](size_t i) { return classes_[i] == PrecisionClass::kAllow && possible_[i] != DType::kInvalid; });
    const Marks after = Spread(allowed, true, denied), before = Spread(allowed, false, denied);
    Marks half = allowed;
    for (size_t i = 0; i < half.size(); ++i) half[i] = half[i] || (after[i] && before[i]);
    SpreadThroughClear(denied, &half);
    for (size_t i = 0; i < half.size(); ++i) {
      if (half[i]) chosen_[i] = possible_[i];
    }
    return std::move(chosen_);
  }

 private:
  using Marks = std::vector<bool>;

  static size_t Id(const Node& node) { return static_cast<size_t>(node.id()); }
  bool IsClear(size_t i) const { return classes_[i] == PrecisionClass::kClear && possible_[i] != DType::kInvalid; }
  bool IsBetween(size_t i) const {
    return IsClear(i) || (classes_[i] == PrecisionClass::kInfer && possible_[i] != DType::kInvalid);
  }

  Marks Marked(const std::function<bool(size_t)>& is_marked) const {
    Marks marks(nodes_.size(), false);
    for (size_t i = 0; i < nodes_.size(); ++i) marks[i] = nodes_[i] != nullptr && is_marked(i);
    return marks;
  }

  // Calls `visit` with the neighbours that give the node floats, or take floats from it.
  void ForNeighbours(const Node& node, bool forward, const std::function<void(size_t)>& visit) const {
    if (!forward) {
      for (const Output& in : node.inputs()) {
        if (in.dtype() == DType::kFloat) visit(Id(*in.node));
      }
      return;
    }
    for (const Graph::Consumer& to : consumers_[Id(node)]) {
      if (to.input >= 0 && RemoveRef(node.output_type(to.output)) == DType::kFloat) visit(Id(*to.node));
    }
  }

  // The nodes of kInfer and kClear that are reached from those marked, except `barred` ones.
  Marks Spread(const Marks& from, bool forward, const Marks& barred) const {
    Marks reached(nodes_.size(), false);
    std::vector<size_t> todo;
    const auto reach = [&](size_t i) {
      if (reached[i] || !IsBetween(i) || (!barred.empty() && barred[i])) return;
      reached[i] = true;
      todo.push_back(i);
    };
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i]) ForNeighbours(*nodes_[i], forward, reach);
    }
    while (!todo.empty()) {
      const size_t i = todo.back();
      todo.pop_back();
      ForNeighbours(*nodes_[i], forward, reach);
    }
    return reached;
  }

  void SpreadThroughClear(const Marks& denied, Marks* half) const {
    std::vector<size_t> todo;
    for (size_t i = 0; i < half->size(); ++i) {
      if ((*half)[i]) todo.push_back(i);
    }
    const auto reach = [&](size_t i) {
      if ((*half)[i] || denied[i] || !IsClear(i)) return;
      (*half)[i] = true;
      todo.push_back(i);
    };
    while (!todo.empty()) {
      const Node& node = *nodes_[todo.back()];
      todo.pop_back();
      ForNeighbours(node, true, reach);
      ForNeighbours(node, false, reach);
    }
  }

  const std::vector<std::unique_ptr<Node>>& nodes_;
  const std::vector<std::vector<Graph::Consumer>> consumers_;
  std::vector<std::optional<PrecisionClass>> classes_;
  std::vector<DType> possible_, chosen_;
};

}  // namespace

std::vector<DType> ChooseHalfNodes(const MixedPrecision& types, const PrunedGraph& part) {
  return Chooser(types, part).Choose();
}

}  // namespace millstream
