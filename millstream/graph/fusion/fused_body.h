// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUSION_FUSED_BODY_H_
#define MILLSTREAM_GRAPH_FUSION_FUSED_BODY_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

inline constexpr char kFusedElements[] = "_FusedElements";
// The names of the nodes that a fused one stands for, for people who read traces.
inline constexpr char kMembersAttr[] = "_members";

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

// What a node of the graph is called in the body that it is a member of, and the other way round ("" for other names).
std::string MemberName(const Node& node);
absl::string_view NameOfMember(const Node& member);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUSION_FUSED_BODY_H_
