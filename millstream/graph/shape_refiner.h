// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_SHAPE_REFINER_H_
#define MILLSTREAM_GRAPH_SHAPE_REFINER_H_

#include <vector>

#include "millstream/graph/graph.h"
#include "millstream/graph/partial_value.h"

namespace millstream {

// Runs shape functions over a graph and remembers the results, by node id. Evaluates small constant subgraphs (shapes
// made of Shape, Pack, StridedSlice, Concat, arithmetic) where a shape function asks for them.
class ShapeRefiner {
 public:
  explicit ShapeRefiner(const Graph& graph) : graph_(graph) {}

  // REQUIRES: the node's inputs were added (back edges of loops count as unknown). InvalidArgument, naming the node, if
  // the shapes cannot fit.
  Status AddNode(const Node& node);
  // Every node of the graph, in topological order.
  Status AddAll();

  // What the caller knows better: the shape becomes what fits both (InvalidArgument if nothing does).
  Status MergeShape(const Output& output, const PartialShape& shape);
  // Replaces the shape. REQUIRES: it is true (loop invariants that the builder of the loop checks).
  void SetShape(const Output& output, PartialShape shape);

  PartialShape shape(const Output& output) const;
  PartialShape handle_shape(const Output& output) const;
  DType handle_dtype(const Output& output) const;
  // The value of an output if it is known before running: a Const, or the shape/size/rank of something fully known, or
  // integer arithmetic on those. At most `max_elements` elements.
  bool ConstantValue(const Output& output, Tensor* value, int64_t max_elements = 256) const;
  // An output read as a shape, unknown sizes as -1.
  PartialShape ConstantAsShape(const Output& output) const;

 private:
  struct Info {
    std::vector<PartialShape> shapes;
    std::vector<PartialShape> handle_shapes;  // empty if no output is a handle with a known shape
    std::vector<DType> handle_dtypes;
    std::vector<PartialValue> values;  // empty if none is known
  };
  Info& InfoOf(const Node& node);  // made if it is not there
  const Info* FindInfo(const Output& output) const;
  const PartialValue* FindValue(const Output& output) const;
  Status RunShapeFn(const Node& node, Info* info) const;
  struct LoopShape;
  Status AddInOrder(const std::vector<Node*>& order, const std::vector<LoopShape>& loops);
  bool WeakenLoops(std::vector<LoopShape>* loops) const;

  const Graph& graph_;
  std::vector<Info> infos_;  // by node id
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_SHAPE_REFINER_H_
