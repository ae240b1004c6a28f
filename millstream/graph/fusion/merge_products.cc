// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/fusion/merge_products.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "millstream/framework/device_name.h"
#include "millstream/graph/rewriting/lazy_shapes.h"
#include "millstream/graph/rewriting/replacement.h"
#include "millstream/graph/rewriting/uses.h"

namespace millstream {
namespace {

// Copying factors costs as much as their size, which is to be small beside the products'.
constexpr int64_t kSmallestProduct = 16;

bool IsTrue(const Node& node, const char* attr) {
  bool value = false;
  return node.GetAttr(attr, &value).ok() && value;
}

bool IsOnCpu(absl::string_view device) {
  const StatusOr<DeviceName> name = DeviceName::Parse(device);
  return !name.ok() || !name->type || *name->type == "CPU";
}

class ProductMerger {
 public:
  explicit ProductMerger(PrunedGraph* part) : part_(part), graph_(*part->graph), uses_(*part), shapes_(graph_) {}

  Status Run() {
    const int limit = graph_.id_limit();
    for (int id = 0; id < limit; ++id) {
      Node* const node = graph_.nodes()[static_cast<size_t>(id)].get();
      if (node == nullptr || !node->Is("AddN") || !IsPure(*node) || IsOnCpu(node->assigned_device())) continue;
      RETURN_IF_ERROR(MergeTerms(node));
    }
    replaced_.Apply(part_);
    return OkStatus();
  }

 private:
  struct Kind {  // terms of one kind may be merged
    bool is_product, transpose_a, transpose_b;
    auto operator<=>(const Kind&) const = default;
  };

  // Replaces the terms of each kind by one.
  Status MergeTerms(Node* sum) {
    std::map<Kind, std::vector<Node*>> alike;
    std::vector<Output> rest;
    for (const Output& in : sum->inputs()) {
      Kind kind{};
      if (MayMerge(*sum, in, &kind)) {
        alike[kind].push_back(in.node);
      } else {
        rest.push_back(in);
      }
    }
    bool changed = false;
    for (const auto& [kind, terms] : alike) {
      if (terms.size() < 2 || HaveCommonFactor(terms)) {
        for (Node* term : terms) rest.emplace_back(term);
        continue;
      }
      ASSIGN_OR_RETURN(const Output merged, kind.is_product ? MergeMatMuls(terms) : MergeBiasGradients(terms));
      rest.push_back(merged);
      changed = true;
    }
    if (!changed) return OkStatus();
    ASSIGN_OR_RETURN(const Output left, Sum(*sum, rest));
    replaced_.Replace(Output(sum), left);
    replaced_.Drop(sum, left.node);
    return OkStatus();
  }

  bool MayMerge(const Node& sum, const Output& term, Kind* kind) {
    const Node& node = *term.node;
    *kind = {node.Is("MatMul"), IsTrue(node, "transpose_a"), IsTrue(node, "transpose_b")};
    if (!kind->is_product && !IsBiasGradient(node)) return false;
    if (!node.control_inputs().empty() || node.assigned_device() != sum.assigned_device()) return false;
    if (uses_.OnlyReader(node) != &sum) return false;
    if (!kind->is_product) return true;
    const PartialShape shape = shapes_.Of(term);
    if (!shape.IsFullyDefined() || shape.rank() != 2) return false;
    const int64_t m = shape.dim(0), n = shape.dim(1);
    return m * n >= kSmallestProduct * (m + n);
  }

  bool IsBiasGradient(const Node& node) {
    std::string format;
    if (!node.Is("BiasAddGrad") || !node.GetAttr("data_format", &format).ok() || format != "NHWC") return false;
    return shapes_.Of(node.input(0)).rank_known() && shapes_.Of(node.input(0)).rank() == 2;
  }

  // a b + a c is better done otherwise.
  static bool HaveCommonFactor(const std::vector<Node*>& terms) {
    for (int k = 0; k < terms[0]->num_inputs(); ++k) {
      const auto same = [&](const Node* term) { return term->input(k) == terms[0]->input(k); };
      if (std::all_of(terms.begin(), terms.end(), same)) return true;
    }
    return false;
  }

  StatusOr<Output> MergeMatMuls(const std::vector<Node*>& terms) {
    ASSIGN_OR_RETURN(const Output a, Join(terms, 0, IsTrue(*terms[0], "transpose_a") ? 0 : 1));
    ASSIGN_OR_RETURN(const Output b, Join(terms, 1, IsTrue(*terms[0], "transpose_b") ? 1 : 0));
    return Twin(*terms[0], {a, b});
  }
  StatusOr<Output> MergeBiasGradients(const std::vector<Node*>& terms) {
    ASSIGN_OR_RETURN(const Output all, Join(terms, 0, 0));
    return Twin(*terms[0], {all});
  }

  // Inputs `k` of the terms side by side. A weight and its bias share one of them.
  StatusOr<Output> Join(const std::vector<Node*>& terms, int k, int axis) {
    std::vector<Output> parts;
    std::vector<std::pair<int, int>> key;
    for (const Node* term : terms) {
      parts.push_back(term->input(k));
      key.emplace_back(parts.back().node->id(), parts.back().index);
    }
    auto [known, is_new] = joined_.try_emplace({key, axis});
    if (!is_new) return known->second;
    ASSIGN_OR_RETURN(const Output where, Const(*terms[0], axis));
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(terms[0]->name() + "/factors");
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup("ConcatV2"));
    spec.attrs.Set("N", static_cast<int64_t>(parts.size()));
    spec.attrs.Set("T", parts[0].dtype());
    spec.attrs.Set("Tidx", DType::kInt32);
    parts.push_back(where);
    spec.inputs = std::move(parts);
    ASSIGN_OR_RETURN(known->second, Add(std::move(spec), *terms[0]));
    return known->second;
  }

  StatusOr<Output> Const(const Node& beside, int value) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(beside.name() + "/factors/axis");
    ASSIGN_OR_RETURN(spec.op, OpRegistry::Global().Lookup("Const"));
    spec.attrs.Set("value", Tensor::Scalar<int32_t>(value));
    spec.attrs.Set("dtype", DType::kInt32);
    return Add(std::move(spec), beside);
  }

  // One more of the same op with the same attributes.
  StatusOr<Output> Twin(const Node& of, std::vector<Output> inputs) {
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(of.name() + "/merged");
    spec.op = &of.op();
    spec.attrs = of.attrs();
    spec.inputs = std::move(inputs);
    return Add(std::move(spec), of);
  }

  // What is left of a sum, which may have nodes to wait for.
  StatusOr<Output> Sum(const Node& sum, std::vector<Output> terms) {
    if (terms.size() == 1 && sum.control_inputs().empty()) return terms[0];
    Graph::NodeSpec spec;
    spec.name = graph_.UniqueName(sum.name() + "/merged");
    spec.op = &sum.op();
    spec.attrs = sum.attrs();
    spec.attrs.Set("N", static_cast<int64_t>(terms.size()));
    spec.inputs = std::move(terms);
    spec.control_inputs = sum.control_inputs();
    return Add(std::move(spec), sum);
  }

  StatusOr<Output> Add(Graph::NodeSpec spec, const Node& beside) {
    spec.device = beside.device();
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(spec)));
    node->set_assigned_device(beside.assigned_device());
    return Output(node);
  }

  PrunedGraph* const part_;
  Graph& graph_;
  const Uses uses_;
  LazyShapes shapes_;
  std::map<std::pair<std::vector<std::pair<int, int>>, int>, Output> joined_;
  Replacements replaced_;
};

}  // namespace

Status MergeProducts(PrunedGraph* part) { return ProductMerger(part).Run(); }

}  // namespace millstream
