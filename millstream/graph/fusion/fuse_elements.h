// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUSION_FUSE_ELEMENTS_H_
#define MILLSTREAM_GRAPH_FUSION_FUSE_ELEMENTS_H_

#include "millstream/graph/prune.h"

namespace millstream {

// On devices that are not the CPU and have a kernel for _FusedElements: puts element-wise ops that depend on each other
// and have results of one shape into one node, with the Splits and Slices that they read and the concats of their
// results. Several results may leave a group, and scalars, rows and columns are read as often as they are needed.
//
// Groups are formed in the order of a run that puts off element-wise ops as long as there is anything else to do: what
// can run then runs together, and no group waits for itself. REQUIRES: nodes have devices. Linear in nodes and edges.
Status FuseElements(PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUSION_FUSE_ELEMENTS_H_
