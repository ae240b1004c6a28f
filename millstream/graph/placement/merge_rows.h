// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PLACEMENT_MERGE_ROWS_H_
#define MILLSTREAM_GRAPH_PLACEMENT_MERGE_ROWS_H_

#include "millstream/graph/prune.h"

namespace millstream {

// Before a graph is partitioned: each row of a table on another task travels once in a step, however often the batch
// names it.
//
// - A gather on task P whose result is used on task W alone receives each id once; W copies the rows to where they
//   belong.
// - Rows that W sends to a ScatterAdd or ScatterSub on P, or to the Unique and UnsortedSegmentSum with which optimizers
//   merge sparse gradients, are summed on W.
//
// Results change by rounding at most. Nodes in loops, results and targets of the step stay as they are. REQUIRES: nodes
// have assigned devices. Linear in nodes and edges.
Status MergeRowsBetweenTasks(PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PLACEMENT_MERGE_ROWS_H_
