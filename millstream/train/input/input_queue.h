// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_INPUT_INPUT_QUEUE_H_
#define MILLSTREAM_TRAIN_INPUT_INPUT_QUEUE_H_

#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/graph/variables/initializers.h"

namespace millstream {

// A queue that feeds input, its runner and the summary that says how full it is: what producers and batches share.
struct InputQueue {
  const char* type = "FIFOQueueV2";
  std::vector<DType> types = {};
  std::vector<PartialShape> shapes = {};
  int64_t capacity = 32;
  int64_t min_after_dequeue = 0;  // of a RandomShuffleQueueV2
  Seed seed = {};
  std::string shared_name = {};
  std::string name = {};  // none: the type's, as "fifo_queue"
};
// InvalidArgument, in the scope's status, if capacities do not fit.
Output MakeInputQueue(const Scope& s, const InputQueue& options);
// Adds the runner of these to the graph.
void RunQueue(const Scope& s, Output queue, const std::vector<Node*>& enqueue_ops);
// A scalar summary, in the collection "summaries".
void SummarizeFullness(const Scope& s, Output queue, int64_t from, int64_t to);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_INPUT_INPUT_QUEUE_H_
