// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUSION_FUSED_BODY_H_
#define MILLSTREAM_GRAPH_FUSION_FUSED_BODY_H_

#include <memory>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

inline constexpr char kFusedElements[] = "_FusedElements";

// What a _FusedElements node computes: ops on elements, with the splits and slices in front of them and the concats
// behind them, as a graph of its own.
struct FusedBody {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;      // placeholders: the node's inputs
  std::vector<Node*> members;   // all others, constants included; each after those it reads
  std::vector<Output> results;  // the node's outputs
};

// The attributes body, TArgs and TResults of a node. REQUIRES: args are called a0, a1, ...
Status WriteFusedBody(const FusedBody& body, AttrMap* attrs);
// The other way round, of a node that is not trusted. InvalidArgument for a body that has ops of other kinds, or does
// not fit the types.
StatusOr<FusedBody> ReadFusedBody(const AttrMap& attrs);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUSION_FUSED_BODY_H_
