// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PLACEMENT_PARTITION_H_
#define MILLSTREAM_GRAPH_PLACEMENT_PARTITION_H_

#include <string>
#include <vector>

#include "millstream/graph/prune.h"

namespace millstream {

// An edge between tasks: _Send (or _LoopSend) on one side, _Recv on the other, with its number in "_edge".
struct CutEdge {
  uint32_t id = 0;
  int from = 0;  // index of the part
  int to = 0;
  DType dtype = DType::kInvalid;
  bool in_loop = false;
  std::string tensor;  // "node:0", for errors and traces
};

// What one task runs of a signature.
struct GraphPart {
  std::string task;              // "/job:ps/replica:0/task:0"
  PrunedGraph graph;             // args and rets are this part's own
  std::vector<int> arg_numbers;  // which of the signature's feeds each arg is; a feed may go to several parts
  std::vector<int> ret_numbers;  // which of the signature's fetches each ret is
};

struct PartitionedGraph {
  std::vector<GraphPart> parts;
  std::vector<CutEdge> edges;  // by id
};

// Cuts a pruned graph, every node of which has an assigned device, into one part per task. A value that several nodes
// of a task need is sent once. Control edges between tasks become transfers of an empty tensor. Constants (and nothing
// else) are repeated where they are read instead of being sent, if they are small. Loops and branches that span tasks
// work: each task that has nodes of a loop gets a copy of the loop's control (frame of the same name), driven by the
// value of its LoopCond, and dead values are sent as such. An arg lives with its readers; one that nobody reads with
// the first part. Reference edges are never cut (InvalidArgument; the placer keeps them together). Linear in nodes and
// edges.
StatusOr<PartitionedGraph> PartitionByTask(PrunedGraph pruned);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PLACEMENT_PARTITION_H_
