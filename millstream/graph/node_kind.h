// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_NODE_KIND_H_
#define MILLSTREAM_GRAPH_NODE_KIND_H_

#include "millstream/framework/op_traits.h"
#include "millstream/graph/graph.h"

namespace millstream {

inline OpKind KindOf(const Node& node) { return KindOf(node.op().traits); }
inline bool IsA(const Node& node, OpKind kind) { return KindOf(node) == kind; }

// These five include the twins for references.
inline bool IsEnter(const Node& node) { return IsA(node, OpKind::kEnter); }
inline bool IsExit(const Node& node) { return IsA(node, OpKind::kExit); }
inline bool IsMerge(const Node& node) { return IsA(node, OpKind::kMerge); }
inline bool IsSwitch(const Node& node) { return IsA(node, OpKind::kSwitch); }
inline bool IsNextIteration(const Node& node) { return IsA(node, OpKind::kNextIteration); }
// The twin of another op that takes and gives references, as RefSwitch is of Switch.
inline bool IsRefTwin(const Node& node) { return !node.op().def.outputs.empty() && node.op().def.outputs[0].is_ref; }

// A constant that waits for nothing: it is there before anything runs, and may be read in any loop.
inline bool IsFreeConstant(const Node& node) { return IsA(node, OpKind::kConst) && node.control_inputs().empty(); }

// An argument or a result of the function body, or of the fed part of a graph, that it is in.
inline bool IsArgOrRetval(uint32_t traits) {
  return KindOf(traits) == OpKind::kArg || KindOf(traits) == OpKind::kRetval;
}
inline bool IsArgOrRetval(const Node& node) { return IsArgOrRetval(node.op().traits); }

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_NODE_KIND_H_
