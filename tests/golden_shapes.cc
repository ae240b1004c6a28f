// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_shapes.h"

#include <map>

#include "millstream/framework/op.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

void ReplaceByPlaceholders(const proto::SignatureDef& signature, proto::GraphDef* graph) {
  for (proto::NodeDef& node : *graph->mutable_node()) {
    const auto it = signature.inputs().find(node.name());
    if (it == signature.inputs().end()) continue;
    node.set_op("Placeholder");
    node.clear_attr();
    (*node.mutable_attr())["dtype"].set_type(it->second.dtype());
    *(*node.mutable_attr())["shape"].mutable_shape() = it->second.tensor_shape();
  }
}

StatusOr<AttrMap> NodeAttrs(const proto::NodeDef& node, const OpEntry& op) {
  AttrMap attrs;
  for (const auto& [key, value] : node.attr()) {
    ASSIGN_OR_RETURN(AttrValue v, AttrFromProto(value));
    attrs.Set(key, std::move(v));
  }
  RETURN_IF_ERROR(CompleteAttrs(op.def, &attrs));
  return attrs;
}

// The shapes of the outputs of node "op", whose inputs are placeholders and constants.
StatusOr<std::vector<PartialShape>> OpShapes(const proto::GraphDef& graph) {
  std::map<std::string, const proto::NodeDef*> nodes;
  for (const proto::NodeDef& node : graph.node()) nodes[node.name()] = &node;
  const proto::NodeDef& node = *nodes.at("op");
  ASSIGN_OR_RETURN(const OpEntry* op, OpRegistry::Global().Lookup(node.op()));
  ASSIGN_OR_RETURN(const AttrMap attrs, NodeAttrs(node, *op));
  std::vector<DType> output_types;
  RETURN_IF_ERROR(ArgTypes(op->def.outputs, attrs, &output_types));
  std::vector<PartialShape> inputs;
  std::map<int, Tensor> constants;
  for (const std::string& name : node.input()) {
    const auto& attr = nodes.at(name)->attr();
    if (nodes.at(name)->op() == "Const") {
      ASSIGN_OR_RETURN(Tensor value, TensorFromProto(attr.at("value").tensor()));
      constants[static_cast<int>(inputs.size())] = value;
      inputs.emplace_back(value.shape());
    } else {
      ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(attr.at("shape").shape()));
      inputs.push_back(std::move(shape));
    }
  }
  ShapeContext context(attrs, std::move(inputs), static_cast<int>(output_types.size()));
  for (auto& [i, value] : constants) context.set_constant(i, value);
  if (op->shape == nullptr) return errors::Unimplemented(op->def.name, " has no shape function");
  RETURN_IF_ERROR(op->shape(context));
  std::vector<PartialShape> shapes;
  for (int i = 0; i < context.num_outputs(); ++i) shapes.push_back(context.output(i));
  return shapes;
}

}  // namespace

::testing::AssertionResult SameShapes(proto::GraphDef graph, const proto::SignatureDef& signature) {
  ReplaceByPlaceholders(signature, &graph);
  const auto shapes = OpShapes(graph);
  if (!signature.method_name().empty()) {
    if (!shapes.ok()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "accepted; want " << signature.method_name();
  }
  if (!shapes.ok()) return ::testing::AssertionFailure() << shapes.status();
  for (const auto& [name, info] : signature.outputs()) {
    const PartialShape& got = shapes->at(static_cast<size_t>(std::stoi(name.substr(name.find(':') + 1))));
    const auto want = PartialShapeFromProto(info.tensor_shape());
    if (!want.ok()) return ::testing::AssertionFailure() << want.status();
    if (!got.IsCompatibleWith(*want) || (want->IsFullyDefined() && !got.IsFullyDefined())) {
      return ::testing::AssertionFailure() << name << " got " << got.ToString() << ", want " << want->ToString();
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace millstream
