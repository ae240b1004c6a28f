// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PARTIAL_VALUE_H_
#define MILLSTREAM_GRAPH_PARTIAL_VALUE_H_

#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

// What is known of a tensor before running: all of it, or some elements of an int32/int64 one (a shape with unknown
// sizes).
struct PartialValue {
  static constexpr int64_t kUnknown = INT64_MIN;

  Tensor tensor;  // if incomplete: int64 whatever the type of the output, kUnknown at unknown elements
  bool complete = false;
  bool known() const { return tensor.IsInitialized(); }
};

// The values of the outputs of `node` as far as they follow from its inputs (null: not known) and the static shapes of
// inputs and outputs; empty if none does. Runs kernels of cheap stateless ops on small integer tensors only.
std::vector<PartialValue> EvaluatePartially(const Node& node, const std::vector<const PartialValue*>& inputs,
                                            const std::vector<PartialShape>& input_shapes,
                                            const std::vector<PartialShape>& output_shapes);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PARTIAL_VALUE_H_
