// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PRECISION_HALF_NODES_H_
#define MILLSTREAM_GRAPH_PRECISION_HALF_NODES_H_

#include <vector>

#include "millstream/graph/precision/mixed_precision.h"

namespace millstream {

// The attribute with the type of the numbers, of every op that has a PrecisionClass.
inline constexpr char kPrecisionAttr[] = "T";

// For each node, by id, the 16-bit type that it should work with; kInvalid: as it is.
//
//   1. All nodes of kAllow.
//   2. Of kInfer and kClear none that depends on a node of kDeny by way of nodes of these two classes.
//   3. Of the others, those on a path between two nodes of 1, by way of nodes of these two classes.
//   4. Of kClear also those next to a node chosen so far, and so on: casts then take place where fewer ops follow.
//
// Nodes with state, of other types than float, without a kernel for the 16-bit type, or that are targets of the step
// stay as they are, and no path leads through them.
std::vector<DType> ChooseHalfNodes(const MixedPrecision& types, const PrunedGraph& part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PRECISION_HALF_NODES_H_
