// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PASSES_LOWER_CONTROL_FLOW_H_
#define MILLSTREAM_GRAPH_PASSES_LOWER_CONTROL_FLOW_H_

#include "millstream/graph/prune.h"

namespace millstream {

// An If, Case or While with `_lower_using_switch_merge`: TensorFlow wants it taken apart.
bool IsLoweredControlFlow(const Node& node);

// What is marked so becomes Switch and Merge, loops with Enter and Exit, with the bodies of its functions between them:
// these may then lie on several devices, and results come when they are there, not when all are. What no result needs
// runs only where somebody waits for the whole conditional, in loops only if the body returns it as a control output.
// A node stays as it is where InlineFunctions() would leave a call, and a loop whose parts lie on several devices. True
// if anything has changed: new nodes have no device yet. For graphs before placement, unlike other passes. Linear in
// nodes and edges of what comes out.
StatusOr<bool> LowerControlFlow(PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PASSES_LOWER_CONTROL_FLOW_H_
