// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_REWRITING_LAZY_SHAPES_H_
#define MILLSTREAM_GRAPH_REWRITING_LAZY_SHAPES_H_

#include <optional>

#include "millstream/graph/shape_refiner.h"

namespace millstream {

// The static shapes of a graph, inferred when somebody first asks: most graphs have nothing that a pass must ask for.
// REQUIRES: nodes that are asked for were there then.
class LazyShapes {
 public:
  explicit LazyShapes(const Graph& graph) : graph_(graph) {}

  // Unknown where shapes cannot be inferred.
  PartialShape Of(const Output& output) {
    if (!refiner_) {
      refiner_.emplace(graph_);
      known_ = refiner_->AddAll().ok();
    }
    return known_ ? refiner_->shape(output) : PartialShape();
  }

 private:
  const Graph& graph_;
  std::optional<ShapeRefiner> refiner_;
  bool known_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_REWRITING_LAZY_SHAPES_H_
