// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_shapes.h"

#include "millstream/graph/import/import.h"
#include "millstream/graph/shape_refiner.h"
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

Status CompareShapes(const Graph& graph, const ShapeRefiner& refiner, const proto::SignatureDef& signature) {
  for (const auto& [name, info] : signature.outputs()) {
    ASSIGN_OR_RETURN(const Output output, graph.FindOutput(name));
    ASSIGN_OR_RETURN(const PartialShape want, PartialShapeFromProto(info.tensor_shape()));
    const PartialShape got = refiner.shape(output);
    if (!got.IsCompatibleWith(want) || (want.IsFullyDefined() && !got.IsFullyDefined())) {
      return errors::Internal(name, ": got ", got.ToString(), ", want ", want.ToString());
    }
  }
  return OkStatus();
}

}  // namespace

::testing::AssertionResult SameShapes(proto::GraphDef def, const proto::SignatureDef& signature) {
  ReplaceByPlaceholders(signature, &def);
  Graph graph;
  if (Status s = ImportGraph(def, {}, &graph); !s.ok()) return ::testing::AssertionFailure() << s;
  ShapeRefiner refiner(graph);
  Status status = refiner.AddAll();
  if (!signature.method_name().empty()) {
    if (absl::IsInvalidArgument(status)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "got " << status << "\nwant " << signature.method_name();
  }
  if (status.ok()) status = CompareShapes(graph, refiner, signature);
  return status.ok() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << status;
}

}  // namespace millstream
