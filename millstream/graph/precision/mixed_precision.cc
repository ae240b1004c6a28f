// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/precision/mixed_precision.h"

#include <map>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/graph/node_kind.h"
#include "millstream/graph/precision/half_nodes.h"
#include "millstream/graph/rewriting/replacement.h"

namespace millstream {
namespace {

// For each single input or output of a node whether it is of the type that changes.
StatusOr<std::vector<bool>> ChangingPlaces(const std::vector<ArgDef>& args, const AttrMap& attrs) {
  std::vector<bool> places;
  for (const ArgDef& arg : args) {
    int begin = 0, end = 0;
    RETURN_IF_ERROR(ArgRange(args, attrs, arg.name, &begin, &end));
    places.insert(places.end(), static_cast<size_t>(end - begin), arg.type_attr == kPrecisionAttr);
  }
  return places;
}

AttrMap CastAttrs(DType from, DType to) {
  AttrMap attrs;
  attrs.Set("SrcT", from);
  attrs.Set("DstT", to);
  return attrs;
}

class PrecisionRewriter {
 public:
  PrecisionRewriter(PrunedGraph* part, std::vector<DType> types)
      : part_(part), graph_(*part->graph), types_(std::move(types)), consumers_(graph_.Consumers()) {}

  Status Run() {
    ASSIGN_OR_RETURN(cast_, OpRegistry::Global().Lookup("Cast"));
    ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
    fetched_.resize(types_.size(), false);
    for (const Output& ret : part_->rets) fetched_[Id(*ret.node)] = true;
    for (Node* node : order) {
      if (TypeOf(*node) != DType::kInvalid) RETURN_IF_ERROR(Rewrite(node));
    }
    replaced_.Apply(part_);
    return OkStatus();
  }

 private:
  static size_t Id(const Node& node) { return static_cast<size_t>(node.id()); }
  DType TypeOf(const Node& node) const { return Id(node) < types_.size() ? types_[Id(node)] : DType::kInvalid; }

  Status Rewrite(Node* node) {
    const DType half = TypeOf(*node);
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(node->name(), "/", DTypeName(half)));
    spec.op = &node->op();
    spec.attrs = node->attrs();
    spec.attrs.Set(kPrecisionAttr, half);
    spec.control_inputs = node->control_inputs();
    spec.device = node->device();
    ASSIGN_OR_RETURN(const std::vector<bool> changes, ChangingPlaces(spec.op->def.inputs, node->attrs()));
    for (int i = 0; i < node->num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const Output in, changes[static_cast<size_t>(i)] ? HalfOf(*node, i) : Unchanged(node->input(i)));
      spec.inputs.push_back(in);
    }
    ASSIGN_OR_RETURN(Node * twin, graph_.AddNode(std::move(spec)));
    twin->set_assigned_device(node->assigned_device());
    twins_[node] = twin;
    replaced_.Drop(node, twin);
    return ReplaceOutputs(node, twin);
  }

  // Who goes on with floats reads them from a cast.
  Status ReplaceOutputs(Node* node, Node* twin) {
    ASSIGN_OR_RETURN(const std::vector<bool> changes, ChangingPlaces(node->op().def.outputs, node->attrs()));
    for (int k = 0; k < node->num_outputs(); ++k) {
      Output to(twin, k);
      if (changes[static_cast<size_t>(k)] && IsReadAsFloat(*node, k)) {
        ASSIGN_OR_RETURN(to, AddCast(to, DType::kFloat, *node, {}));
      }
      replaced_.Replace(Output(node, k), to);
    }
    return OkStatus();
  }

  bool IsReadAsFloat(const Node& node, int output) const {
    if (fetched_[Id(node)]) return true;
    for (const Graph::Consumer& c : consumers_[Id(node)]) {
      if (c.input >= 0 && c.output == output && TypeOf(*c.node) == DType::kInvalid) return true;
    }
    return false;
  }

  // An input that keeps its type, of a node that may have got a twin.
  StatusOr<Output> Unchanged(const Output& from) const {
    const auto it = twins_.find(from.node);
    return it == twins_.end() ? from : Output(it->second, from.index);
  }

  StatusOr<Output> HalfOf(const Node& node, int input) {
    const Output from = node.input(input);
    const DType half = TypeOf(node);
    const auto it = twins_.find(from.node);
    if (it != twins_.end()) {
      const Output twin(it->second, from.index);
      return twin.dtype() == half ? twin : AddSharedCast(twin, half, node);
    }
    if (IsFreeConstant(*from.node)) return HalfConstant(from.node, half, node);
    // A reference is read when the node may run, not before.
    const bool is_ref = IsRef(from.node->output_type(from.index));
    if (is_ref && !node.control_inputs().empty()) return AddCast(from, half, node, node.control_inputs());
    return AddSharedCast(from, half, node);
  }

  StatusOr<Output> AddSharedCast(const Output& from, DType to, const Node& reader) {
    Node*& cast = casts_[{from.node, from.index, to, reader.assigned_device()}];
    if (cast == nullptr) {
      ASSIGN_OR_RETURN(const Output made, AddCast(from, to, reader, {}));
      cast = made.node;
    }
    return Output(cast);
  }

  StatusOr<Output> AddCast(const Output& from, DType to, const Node& beside, std::vector<Node*> control_inputs) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(from.node->name(), "/to_", DTypeName(to)));
    spec.op = cast_;
    spec.attrs = CastAttrs(from.dtype(), to);
    spec.inputs = {from};
    spec.control_inputs = std::move(control_inputs);
    spec.device = beside.device();
    ASSIGN_OR_RETURN(Node * cast, graph_.AddNode(std::move(spec)));
    cast->set_assigned_device(beside.assigned_device());
    return Output(cast);
  }

  // Constants may be read in any loop, casts of them only in the outermost frame: the value itself is cast.
  StatusOr<Output> HalfConstant(Node* constant, DType to, const Node& reader) {
    Node*& half = constants_[{constant, to}];
    if (half != nullptr) return Output(half);
    Tensor value;
    RETURN_IF_ERROR(constant->GetAttr("value", &value));
    ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                     RunKernel(*cast_, CastAttrs(DType::kFloat, to), {std::move(value)}, CpuDevice::SingleThreaded()));
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(absl::StrCat(constant->name(), "/", DTypeName(to)));
    spec.op = &constant->op();
    spec.attrs.Set("value", values[0]);
    spec.attrs.Set("dtype", to);
    spec.device = reader.device();
    ASSIGN_OR_RETURN(half, graph_.AddNode(std::move(spec)));
    half->set_assigned_device(constant->assigned_device());
    return Output(half);
  }

  PrunedGraph* const part_;
  Graph& graph_;
  const std::vector<DType> types_;  // by id; nodes that were added are beyond
  const std::vector<std::vector<Graph::Consumer>> consumers_;
  std::vector<bool> fetched_;
  const OpEntry* cast_ = nullptr;
  absl::flat_hash_map<const Node*, Node*> twins_;
  std::map<std::tuple<const Node*, int, DType, absl::string_view>, Node*> casts_;
  std::map<std::pair<const Node*, DType>, Node*> constants_;
  Replacements replaced_;
};

}  // namespace

Status UseMixedPrecision(const MixedPrecision& types, PrunedGraph* part) {
  if (!types.IsOn()) return OkStatus();
  std::vector<DType> chosen = ChooseHalfNodes(types, *part);
  if (std::all_of(chosen.begin(), chosen.end(), [](DType t) { return t == DType::kInvalid; })) return OkStatus();
  return PrecisionRewriter(part, std::move(chosen)).Run();
}

}  // namespace millstream
