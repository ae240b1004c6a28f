// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/placement/merge_rows.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millstream/graph/node_kind.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/replacement.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {
namespace {

using Consumers = std::vector<Graph::Consumer>;

// "/job:ps/replica:0/task:0" of a device there.
absl::string_view TaskOfDevice(absl::string_view device) { return device.substr(0, device.rfind("/device:")); }
absl::string_view TaskOfNode(const Node& node) { return TaskOfDevice(node.assigned_device()); }

bool IsZero(const Output& output) {
  Tensor value;
  if (!IsA(*output.node, OpKind::kConst) || !output.node->GetAttr("value", &value).ok() || value.rank() != 0)
    return false;
  return (value.dtype() == DType::kInt32 && value.scalar<int32_t>() == 0) ||
         (value.dtype() == DType::kInt64 && value.scalar<int64_t>() == 0);
}

// Takes rows along the first axis, of a table on its own task.
bool IsRowGather(const Node& node) {
  const bool v2 = node.Is("GatherV2");
  if (!v2 && !node.Is("Gather") && !node.Is("ResourceGather")) return false;
  int64_t batch_dims = 0;
  if (node.op().def.FindAttr("batch_dims") != nullptr &&
      (!node.GetAttr("batch_dims", &batch_dims).ok() || batch_dims != 0))
    return false;
  return (!v2 || IsZero(node.input(2))) && TaskOfNode(*node.input(0).node) == TaskOfNode(node);
}

bool IsScatterSum(const Node& node) {
  return node.Is("ScatterAdd") || node.Is("ScatterSub") || node.Is("ResourceScatterAdd") ||
         node.Is("ResourceScatterSub");
}

// The number of elements that a Unique has found: Shape(unique)[0].
bool IsCountOf(const Node& count, const Node& unique) {
  if (!count.Is("StridedSlice") || !count.input(0).node->Is("Shape")) return false;
  return count.input(0).node->input(0) == Output(const_cast<Node*>(&unique), 0);
}

class RowMerger {
 public:
  explicit RowMerger(PrunedGraph* part) : part_(*part), graph_(*part->graph), consumers_(graph_.Consumers()) {}

  Status Run() {
    if (OneTask()) return OkStatus();
    MarkLoops();
    MarkAskedFor();
    const int limit = graph_.id_limit();
    for (int id = 0; id < limit; ++id) {
      Node* const node = graph_.nodes()[static_cast<size_t>(id)].get();
      if (node == nullptr || in_loop_[static_cast<size_t>(id)]) continue;
      if (IsRowGather(*node)) RETURN_IF_ERROR(MergePull(node));
      if (node->Is("Unique")) RETURN_IF_ERROR(MoveSums(node));
      if (IsScatterSum(*node)) RETURN_IF_ERROR(MergePush(node));
    }
    if (!changed_) return OkStatus();
    replaced_.Apply(&part_);
    RemoveUnused(&part_);
    return OkStatus();
  }

 private:
  struct Unique {
    Output ids, positions;
  };

  bool OneTask() const {
    absl::string_view first;
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || IsA(*node, OpKind::kArg)) continue;
      if (first.empty()) first = TaskOfNode(*node);
      if (TaskOfNode(*node) != first) return false;
    }
    return true;
  }

  void MarkLoops() {
    in_loop_.resize(static_cast<size_t>(graph_.id_limit()), false);
    std::vector<const Node*> reached;
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && IsEnter(*node)) reached.push_back(node.get());
    }
    while (!reached.empty()) {
      const Node* const node = reached.back();
      reached.pop_back();
      if (in_loop_[static_cast<size_t>(node->id())] || IsExit(*node)) continue;
      in_loop_[static_cast<size_t>(node->id())] = true;
      for (const Graph::Consumer& c : consumers_[static_cast<size_t>(node->id())]) reached.push_back(c.node);
    }
  }

  void MarkAskedFor() {
    asked_for_.resize(static_cast<size_t>(graph_.id_limit()), false);
    for (const Output& ret : part_.rets) asked_for_[static_cast<size_t>(ret.node->id())] = true;
    for (const Node* target : part_.targets) asked_for_[static_cast<size_t>(target->id())] = true;
  }

  const Consumers& ConsumersOf(const Node& node) const { return consumers_[static_cast<size_t>(node.id())]; }

  // The one other task that uses outputs of `node`; "" if there is none, or if more than one does.
  absl::string_view OnlyReader(const Node& node) const {
    absl::string_view reader;
    for (const Graph::Consumer& c : ConsumersOf(node)) {
      if (c.input < 0) continue;
      const absl::string_view task = TaskOfNode(*c.node);
      if (task == TaskOfNode(node) || (!reader.empty() && task != reader) ||
          in_loop_[static_cast<size_t>(c.node->id())])
        return {};
      reader = task;
    }
    return reader;
  }

  Status MergePull(Node* gather) {
    const absl::string_view reader = OnlyReader(*gather);
    if (reader.empty() || asked_for_[static_cast<size_t>(gather->id())]) return OkStatus();
    const Output ids = gather->input(1);
    if (!IsA(*ids.node, OpKind::kArg) && TaskOfNode(*ids.node) != reader) return OkStatus();
    const std::string device = absl::StrCat(reader, "/device:CPU:0");
    ASSIGN_OR_RETURN(const Output all,
                     Const(absl::StrCat(gather->name(), "/all"), Tensor::Vector<int32_t>({-1}), device));
    ASSIGN_OR_RETURN(const Output flat, Add(gather->name() + "/ids", "Reshape", {ids, all}, device,
                                            {{"T", ids.dtype()}, {"Tshape", DType::kInt32}}));
    ASSIGN_OR_RETURN(const Unique unique, AddUnique(gather->name(), flat, device));
    ASSIGN_OR_RETURN(const Output shape, Add(gather->name() + "/shape", "Shape", {ids}, device,
                                             {{"T", ids.dtype()}, {"out_type", DType::kInt32}}));
    ASSIGN_OR_RETURN(const Output where, Add(gather->name() + "/positions", "Reshape", {unique.positions, shape},
                                             device, {{"T", DType::kInt32}, {"Tshape", DType::kInt32}}));
    ASSIGN_OR_RETURN(const Output axis, Const(gather->name() + "/axis", Tensor::Scalar<int32_t>(0), device));
    ASSIGN_OR_RETURN(const Output rows,
                     Add(gather->name() + "/copies", "GatherV2", {Output(gather), where, axis}, device,
                         {{"Tparams", Output(gather).dtype()}, {"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}}));
    graph_.SetInput(gather, 1, unique.ids);
    for (const Graph::Consumer& c : ConsumersOf(*gather)) {
      if (c.input >= 0) graph_.SetInput(c.node, c.input, rows);
    }
    changed_ = true;
    return OkStatus();
  }

  // Unique and the sums over what it finds go to the task from which ids and rows come.
  Status MoveSums(Node* unique) {
    const absl::string_view sender = TaskOfNode(*unique->input(0).node);
    if (sender == TaskOfNode(*unique) || !IsSender(*unique->input(0).node)) return OkStatus();
    if (asked_for_[static_cast<size_t>(unique->id())] || Output(unique, 1).dtype() != DType::kInt32) return OkStatus();
    std::vector<Node*> sums;
    for (const Graph::Consumer& c : ConsumersOf(*unique)) {
      if (c.output != 1 || c.input < 0) continue;
      if (!c.node->Is("UnsortedSegmentSum") || c.input != 1 || !IsCountOf(*c.node->input(2).node, *unique) ||
          TaskOfNode(*c.node->input(0).node) != sender || !IsSender(*c.node->input(0).node) ||
          asked_for_[static_cast<size_t>(c.node->id())] || in_loop_[static_cast<size_t>(c.node->id())])
        return OkStatus();
      sums.push_back(c.node);
    }
    if (sums.empty()) return OkStatus();
    const std::string device = absl::StrCat(sender, "/device:CPU:0");
    ASSIGN_OR_RETURN(const Unique moved, AddUnique(unique->name(), unique->input(0), device));
    for (Node* sum : sums) {
      ASSIGN_OR_RETURN(const Output rows, AddSum(sum->name(), sum->input(0), moved, device));
      replaced_.Replace(Output(sum), rows);
      replaced_.Drop(sum, rows.node);
    }
    replaced_.Replace(Output(unique, 0), moved.ids);
    changed_ = true;
    return OkStatus();
  }

  Status MergePush(Node* scatter) {
    const Output indices = scatter->input(1);
    const absl::string_view sender = TaskOfNode(*indices.node);
    if (sender == TaskOfNode(*scatter) || !IsSender(*indices.node)) return OkStatus();
    Node* reader = scatter;  // the node on this task that takes what the sender sends
    int input = 2;
    while (TaskOfNode(*reader->input(input).node) == TaskOfNode(*scatter)) {
      reader = reader->input(input).node;
      input = LinearInput(*reader);
      if (input < 0) return OkStatus();
    }
    const Output rows = reader->input(input);
    if (TaskOfNode(*rows.node) != sender || !IsSender(*rows.node) || !HasRank(indices, 1, 1) || !HasRank(rows, 1, 255))
      return OkStatus();
    const std::string device = absl::StrCat(sender, "/device:CPU:0");
    ASSIGN_OR_RETURN(const Unique unique, AddUnique(scatter->name(), indices, device));
    ASSIGN_OR_RETURN(const Output sums, AddSum(scatter->name(), rows, unique, device));
    graph_.SetInput(scatter, 1, unique.ids);
    graph_.SetInput(reader, input, sums);
    changed_ = true;
    return OkStatus();
  }

  // Of a node that scales each row alike and has one reader, the input that has the rows; -1 of any other.
  int LinearInput(const Node& node) {
    if (static_cast<size_t>(node.id()) >= consumers_.size()) return -1;  // added here
    if (ConsumersOf(node).size() != 1 || asked_for_[static_cast<size_t>(node.id())]) return -1;
    if (node.Is("Neg")) return 0;
    if (!node.Is("Mul")) return -1;
    return HasRank(node.input(1), 0, 0) ? 0 : HasRank(node.input(0), 0, 0) ? 1 : -1;
  }

  // What was fed is sent by the master, and constants are copied: neither is sent by a task.
  static bool IsSender(const Node& node) { return !IsA(node, OpKind::kArg) && !IsA(node, OpKind::kConst); }

  bool HasRank(const Output& output, int low, int high) {
    if (shapes_ == nullptr) {
      shapes_ = std::make_unique<ShapeRefiner>(graph_);
      shapes_->AddAll().IgnoreError();  // reported, if it matters, when the graph is run
    }
    const PartialShape shape = shapes_->shape(output);
    return shape.rank_known() && shape.rank() >= low && shape.rank() <= high;
  }

  StatusOr<Output> Add(const std::string& name, const char* type, std::vector<Output> inputs, const std::string& device,
                       std::initializer_list<std::pair<const char*, AttrValue>> attrs) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(name);
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup(type));
    for (const auto& [attr, value] : attrs) spec.attrs.Set(attr, value);
    spec.inputs = std::move(inputs);
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
    node->set_assigned_device(device);
    return Output(node);
  }

  StatusOr<Output> Const(const std::string& name, Tensor value, const std::string& device) {
    const DType dtype = value.dtype();
    return Add(name, "Const", {}, device, {{"value", std::move(value)}, {"dtype", dtype}});
  }

  StatusOr<Unique> AddUnique(const std::string& name, const Output& ids, const std::string& device) {
    auto [known, is_new] = uniques_.try_emplace(ids);
    if (!is_new) return known->second;
    ASSIGN_OR_RETURN(const Output unique,
                     Add(name + "/unique", "Unique", {ids}, device, {{"T", ids.dtype()}, {"out_idx", DType::kInt32}}));
    known->second = {unique, Output(unique.node, 1)};
    return known->second;
  }

  StatusOr<Output> AddSum(const std::string& name, const Output& rows, const Unique& unique,
                          const std::string& device) {
    ASSIGN_OR_RETURN(const Output count, Add(name + "/count", "Size", {unique.ids}, device,
                                             {{"T", unique.ids.dtype()}, {"out_type", DType::kInt32}}));
    return Add(name + "/merged", "UnsortedSegmentSum", {rows, unique.positions, count}, device,
               {{"T", rows.dtype()}, {"Tindices", DType::kInt32}, {"Tnumsegments", DType::kInt32}});
  }

  PrunedGraph& part_;
  Graph& graph_;
  const std::vector<Consumers> consumers_;  // of the nodes that were there before
  std::vector<bool> in_loop_, asked_for_;   // by id, of the same nodes
  std::unique_ptr<ShapeRefiner> shapes_;    // made when it is needed
  std::unordered_map<Output, Unique, OutputHash> uniques_;
  Replacements replaced_;
  bool changed_ = false;
};

}  // namespace

Status MergeRowsBetweenTasks(PrunedGraph* part) { return RowMerger(part).Run(); }

}  // namespace millstream
