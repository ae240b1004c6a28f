// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_name.h"
#include "millstream/graph/passes/passes.h"
#include "millstream/graph/rewriting/lazy_shapes.h"
#include "millstream/graph/rewriting/replacement.h"
#include "millstream/graph/rewriting/uses.h"

namespace millstream {
namespace {

// The CPU has fused kernels for float; other devices may have them for 16-bit floats too.
bool HasFusedKernel(const Node& product, const OpEntry* fused) {
  if (fused == nullptr || product.num_outputs() == 0) return false;
  if (product.output_type(0) == DType::kFloat) return true;
  const StatusOr<DeviceName> device = DeviceName::Parse(product.assigned_device());
  if (!device.ok() || !device->type || *device->type == "CPU") return false;
  return FindKernel(*fused, *device->type, product.attrs(), product.name()).ok();
}

bool IsNhwc(const Node& node) {
  std::string format;
  return !node.GetAttr("data_format", &format).ok() || format == "NHWC";
}

bool IsProduct(const Output& output) {
  return output.index == 0 && (output.node->Is("MatMul") || output.node->Is("Conv2D")) && IsNhwc(*output.node);
}

struct Match {
  Node* product = nullptr;
  Output bias;
  Node* last = nullptr;  // the node whose value the fused one gives
  bool relu = false;
};

// Whether a sum with `bias` adds one value to each column (channel) of `product`.
bool IsBiasOf(const Output& product, const Output& bias, LazyShapes* shapes) {
  const PartialShape vector = shapes->Of(bias);
  if (!vector.IsFullyDefined() || vector.rank() != 1) return false;
  const PartialShape matrix = shapes->Of(product);
  return matrix.rank() > 1 && matrix.dim(matrix.rank() - 1) == vector.dim(0);
}

// The product and the bias that `sum` adds, if it is a BiasAdd or a sum that does the same.
bool FindOperands(const Node& sum, LazyShapes* shapes, Output* product, Output* bias) {
  if (sum.Is("BiasAdd")) {
    *product = sum.input(0), *bias = sum.input(1);
    return IsNhwc(sum) && IsProduct(*product);
  }
  if (!sum.Is("AddV2") && !sum.Is("Add")) return false;
  for (int i = 0; i < 2; ++i) {
    *product = sum.input(i), *bias = sum.input(1 - i);
    if (IsProduct(*product) && IsBiasOf(*product, *bias, shapes)) return true;
  }
  return false;
}

// The sum of a product that nobody else reads and a bias, with the Relu that alone reads it.
bool FindMatch(Node* sum, const Uses& uses, LazyShapes* shapes, Match* match) {
  if (!sum->control_inputs().empty()) return false;
  Output product, bias;
  if (!FindOperands(*sum, shapes, &product, &bias) || uses.OnlyReader(*product.node) != sum) return false;
  if (product.node->assigned_device() != sum->assigned_device()) return false;
  *match = {product.node, bias, sum, false};
  Node* reader = uses.OnlyReader(*sum);
  if (reader != nullptr && reader->Is("Relu") && reader->control_inputs().empty() &&
      reader->assigned_device() == sum->assigned_device()) {
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
  if (op->def.FindAttr("TArgs") != nullptr) spec.attrs.Set("TArgs", AttrValue::DTypes{m.bias.dtype()});
  spec.inputs = {m.product->input(0), m.product->input(1), m.bias};
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
  LazyShapes shapes(graph);
  Replacements fused;
  const int limit = graph.id_limit();
  for (int id = 0; id < limit; ++id) {
    Match m;
    if (graph.nodes()[id] == nullptr || !FindMatch(graph.nodes()[id].get(), uses, &shapes, &m)) continue;
    const OpEntry* op = m.product->Is("MatMul") ? matmul : conv;
    if (!HasFusedKernel(*m.product, op)) continue;
    ASSIGN_OR_RETURN(Node * node, AddFused(graph, m, op));
    fused.Replace(Output(m.last), Output(node));
    fused.Drop(m.last, node);
  }
  fused.Apply(part);
  return OkStatus();
}

}  // namespace millstream
