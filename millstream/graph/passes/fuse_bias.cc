// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/passes/replacement.h"

namespace millstream {
namespace {

// Counts how often each output is read, results of the step included.
class Uses {
 public:
  explicit Uses(const PrunedGraph& part)
      : first_(static_cast<size_t>(part.graph->id_limit()), 0),
        waited_(static_cast<size_t>(part.graph->id_limit()), false) {
    for (const auto& node : part.graph->nodes()) {
      if (node == nullptr) continue;
      for (const Output& in : node->inputs())
        if (in.index == 0) ++first_[in.node->id()];
      for (const Node* in : node->control_inputs()) waited_[in->id()] = true;
    }
    for (const Output& ret : part.rets) first_[ret.node->id()] += 2;
    for (const Node* node : part.targets) waited_[node->id()] = true;
  }
  // Read once as data and in no other way: the reader may swallow it.
  bool Once(const Node& node) const { return first_[node.id()] == 1 && !waited_[node.id()]; }

 private:
  std::vector<int> first_;
  std::vector<bool> waited_;
};

bool IsFloatNode(const Node& node) { return node.output_type(0) == DType::kFloat; }

bool IsNhwc(const Node& node) {
  std::string format;
  return !node.GetAttr("data_format", &format).ok() || format == "NHWC";
}

struct Match {
  Node* product = nullptr;
  Node* bias = nullptr;
  Node* last = nullptr;  // the node whose value the fused one gives
  bool relu = false;
};

// A BiasAdd over a product that nobody else reads, with the Relu that alone reads it.
bool FindMatch(Node* bias, const std::vector<Node*>& only_reader, const Uses& uses, Match* match) {
  if (!bias->Is("BiasAdd") || !IsFloatNode(*bias) || !IsNhwc(*bias) || !bias->control_inputs().empty()) return false;
  Node* product = bias->input(0).node;
  if (!(product->Is("MatMul") || product->Is("Conv2D")) || !IsNhwc(*product) || !uses.Once(*product)) return false;
  if (product->assigned_device() != bias->assigned_device()) return false;
  *match = {product, bias, bias, false};
  Node* reader = uses.Once(*bias) ? only_reader[bias->id()] : nullptr;
  if (reader != nullptr && reader->Is("Relu") && reader->control_inputs().empty() &&
      reader->assigned_device() == bias->assigned_device()) {
    match->last = reader;
    match->relu = true;
  }
  return true;
}

StatusOr<Node*> AddFused(Graph& graph, const Match& m, const OpEntry* op) {
  Graph::NodeSpec spec;
  spec.name = graph.UniqueName(absl::StrCat(m.last->name(), "/fused"));
  spec.op = op;
  for (const AttrDef& attr : op->def.attrs) {
    if (const AttrValue* value = m.product->attrs().Find(attr.name)) spec.attrs.Set(attr.name, *value);
  }
  spec.attrs.Set("num_args", 1);
  spec.attrs.Set("fused_ops", m.relu ? AttrValue::Strings{"BiasAdd", "Relu"} : AttrValue::Strings{"BiasAdd"});
  if (op->def.FindAttr("TArgs") != nullptr) spec.attrs.Set("TArgs", AttrValue::DTypes{DType::kFloat});
  spec.inputs = {m.product->input(0), m.product->input(1), m.bias->input(1)};
  spec.control_inputs = m.product->control_inputs();
  spec.device = m.product->device();
  ASSIGN_OR_RETURN(Node * fused, graph.AddNode(std::move(spec)));
  fused->set_assigned_device(m.product->assigned_device());
  return fused;
}

}  // namespace

Status FuseBias(PrunedGraph* part) {
  Graph& graph = *part->graph;
  const OpEntry* matmul = OpRegistry::Global().Find("_FusedMatMul");
  const OpEntry* conv = OpRegistry::Global().Find("_FusedConv2D");
  const Uses uses(*part);
  std::vector<Node*> only_reader(static_cast<size_t>(graph.id_limit()), nullptr);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (const Output& in : node->inputs()) only_reader[in.node->id()] = node.get();
  }
  Replacements fused;
  const int limit = graph.id_limit();
  for (int id = 0; id < limit; ++id) {
    Match m;
    if (graph.nodes()[id] == nullptr || !FindMatch(graph.nodes()[id].get(), only_reader, uses, &m)) continue;
    const OpEntry* op = m.product->Is("MatMul") ? matmul : conv;
    if (op == nullptr) continue;
    ASSIGN_OR_RETURN(Node * node, AddFused(graph, m, op));
    fused.Replace(Output(m.last), Output(node));
    fused.Drop(m.last, node);
  }
  fused.Apply(part);
  return OkStatus();
}

}  // namespace millstream
