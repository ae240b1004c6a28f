// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "millstream/framework/device_name.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/lazy_shapes.h"
#include "millstream/graph/rewriting/replacement.h"
#include "millstream/graph/rewriting/uses.h"

namespace millstream {
namespace {

// Of floats: 16-bit types are rounded before the activation, which shows where it begins to clamp.
bool IsNorm(const Node& node) {
  return (node.Is("FusedBatchNorm") || node.Is("FusedBatchNormV2") || node.Is("FusedBatchNormV3")) &&
         node.output_type(0) == DType::kFloat;
}
bool IsNormGrad(const Node& node) {
  return node.Is("FusedBatchNormGrad") || node.Is("FusedBatchNormGradV2") || node.Is("FusedBatchNormGradV3");
}

// The fused kernels are for the CPU.
bool IsOnCpu(const Node& node) {
  const StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  return device.ok() && device->type == "CPU";
}

template <typename T>
T AttrOf(const Node& node, const char* name) {
  T value{};
  return node.GetAttr(name, &value).ok() ? value : T{};
}

// A normalization whose result is read by `activation` alone, directly or through a sum with `side`.
struct NormMatch {
  Node* norm = nullptr;
  Node* sum = nullptr;  // null without a side input
  Output side;
  Node* activation = nullptr;
};

class BatchNormFusion {
 public:
  explicit BatchNormFusion(PrunedGraph* part) : part_(part), graph_(*part->graph), uses_(*part) {}

  Status Run() {
    const int limit = graph_.id_limit();
    for (int id = 0; id < limit; ++id) {
      if (Node* node = graph_.nodes()[id].get()) RETURN_IF_ERROR(FuseForward(node));
    }
    if (replacements_.empty()) return OkStatus();
    for (int id = 0; id < limit; ++id) {
      if (Node* node = graph_.nodes()[id].get()) RETURN_IF_ERROR(FuseGradient(node));
    }
    replacements_.Apply(part_);
    return OkStatus();
  }

 private:
  // Nodes that a fused one takes the place of wait for nothing on their own.
  static bool Joins(const Node& node, const Node& norm) {
    return node.control_inputs().empty() && node.assigned_device() == norm.assigned_device();
  }

  bool Matches(Node* activation, NormMatch* match) {
    if (!activation->Is("Relu") && !activation->Is("Relu6")) return false;
    const Output in = activation->input(0);
    if (in.index != 0 || uses_.OnlyReader(*in.node) != activation) return false;
    if (IsNorm(*in.node)) {
      *match = {in.node, nullptr, {}, activation};
    } else if (!MatchesSum(in.node, activation, match)) {
      return false;
    }
    return Joins(*activation, *match->norm) && IsOnCpu(*match->norm);
  }

  bool MatchesSum(Node* sum, Node* activation, NormMatch* match) {
    if (!sum->Is("AddV2") && !sum->Is("Add")) return false;
    for (int i = 0; i < 2; ++i) {
      const Output in = sum->input(i), side = sum->input(1 - i);
      if (in.index != 0 || !IsNorm(*in.node) || uses_.OnlyReader(*in.node) != sum || !Joins(*sum, *in.node)) continue;
      if (!HaveEqualShapes(in, side)) continue;
      *match = {in.node, sum, side, activation};
      return true;
    }
    return false;
  }

  // A sum may broadcast.
  bool HaveEqualShapes(const Output& a, const Output& b) {
    const PartialShape x = shapes_.Of(a);
    return x.IsFullyDefined() && x == shapes_.Of(b);
  }

  Status FuseForward(Node* activation) {
    NormMatch m;
    if (!Matches(activation, &m)) return OkStatus();
    Graph::NodeSpec spec;
    spec.op = OpRegistry::Global().Find("_FusedBatchNormActivation");
    for (int i = 0; i < m.norm->num_inputs(); ++i) spec.inputs.push_back(m.norm->input(i));
    if (m.sum != nullptr) spec.inputs.push_back(m.side);
    spec.attrs.Set("num_side_inputs", m.sum != nullptr ? 1 : 0);
    spec.attrs.Set("exponential_avg_factor", AttrOf<float>(*m.norm, "exponential_avg_factor"));
    ASSIGN_OR_RETURN(Node * fused, AddFused(*m.norm, *activation, std::move(spec)));
    replacements_.Replace(Output(activation), Output(fused));
    for (int i = 1; i < m.norm->num_outputs(); ++i) replacements_.Replace(Output(m.norm, i), Output(fused, i));
    replacements_.Drop(activation, fused);
    replacements_.Drop(m.norm, fused);
    if (m.sum == nullptr) fused_[activation] = {m.norm, fused};
    return OkStatus();
  }

  struct Fused {
    Node* norm;
    Node* node;
  };

  // The gradient of a fused normalization, which alone reads that of the activation.
  Status FuseGradient(Node* grad) {
    if (!IsNormGrad(*grad) || grad->input(0).index != 0) return OkStatus();
    Node* behind = grad->input(0).node;
    if (!behind->Is("ReluGrad") && !behind->Is("Relu6Grad")) return OkStatus();
    if (uses_.OnlyReader(*behind) != grad || !Joins(*behind, *grad)) return OkStatus();
    const auto it = fused_.find(behind->input(1).node);
    if (it == fused_.end() || behind->Is("ReluGrad") != it->first->Is("Relu")) return OkStatus();
    const Fused& forward = it->second;
    if (!IsGradientOf(*grad, *forward.norm)) return OkStatus();
    Graph::NodeSpec spec;
    spec.op = OpRegistry::Global().Find("_FusedBatchNormActivationGrad");
    spec.inputs = {behind->input(0)};
    for (int i = 1; i < 5; ++i) spec.inputs.push_back(grad->input(i));
    spec.inputs.emplace_back(forward.node, 5);
    ASSIGN_OR_RETURN(Node * fused, AddFused(*grad, *it->first, std::move(spec)));
    for (int i = 0; i < 5; ++i) replacements_.Replace(Output(grad, i), Output(fused, i));
    replacements_.Drop(grad, fused);
    return OkStatus();
  }

  static bool IsGradientOf(const Node& grad, const Node& norm) {
    const bool training = AttrOf<bool>(norm, "is_training");
    if (grad.input(1) != norm.input(0) || grad.input(2) != norm.input(1)) return false;
    for (int i = 3; i < 5; ++i) {
      const Output given = grad.input(i);
      if (!(given.node == &norm && given.index == i) && !(!training && given == norm.input(i))) return false;
    }
    return AttrOf<bool>(grad, "is_training") == training &&
           AttrOf<float>(grad, "epsilon") == AttrOf<float>(norm, "epsilon") &&
           AttrOf<std::string>(grad, "data_format") == AttrOf<std::string>(norm, "data_format") &&
           grad.assigned_device() == norm.assigned_device();
  }

  StatusOr<Node*> AddFused(const Node& norm, const Node& activation, Graph::NodeSpec spec) {
    spec.name = graph_.UniqueName(absl::StrCat(norm.name(), "/fused"));
    spec.attrs.Set("T", norm.input(0).dtype());
    spec.attrs.Set("U", DType::kFloat);
    spec.attrs.Set("epsilon", AttrOf<float>(norm, "epsilon"));
    spec.attrs.Set("data_format", AttrOf<std::string>(norm, "data_format"));
    spec.attrs.Set("is_training", AttrOf<bool>(norm, "is_training"));
    spec.attrs.Set("activation", std::string(activation.type()));
    spec.control_inputs = norm.control_inputs();
    spec.device = norm.device();
    ASSIGN_OR_RETURN(Node * fused, graph_.AddNode(std::move(spec)));
    fused->set_assigned_device(norm.assigned_device());
    return fused;
  }

  PrunedGraph* const part_;
  Graph& graph_;
  const Uses uses_;
  LazyShapes shapes_{graph_};
  std::unordered_map<const Node*, Fused> fused_;  // by activation, without side inputs
  Replacements replacements_;
};

}  // namespace

Status FuseBatchNorm(PrunedGraph* part) { return BatchNormFusion(part).Run(); }

}  // namespace millstream
