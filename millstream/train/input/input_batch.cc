// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/graph/shape_refiner.h"
#include "millstream/train/input/input.h"
#include "millstream/train/input/input_queue.h"
#include "millstream/train/input/queue_runner.h"

namespace millstream::input {
namespace {

using Lists = std::vector<std::vector<Output>>;

// What all lists agree on: a size that differs is not known.
PartialShape Common(const PartialShape& a, const PartialShape& b) {
  if (a.rank() != b.rank() || !a.rank_known()) return PartialShape();
  PartialShape both = a;
  for (int i = 0; i < both.rank(); ++i) {
    if (both.dim(i) != b.dim(i)) both.set_dim(i, -1);
  }
  return both;
}

PartialShape ExampleShape(const Scope& s, Output tensor, bool enqueue_many) {
  const PartialShape shape = s.ShapeOf(tensor);
  if (!enqueue_many) return shape;
  return shape.rank() < 1 ? PartialShape() : shape.Slice(1, shape.rank());
}

// Empty, with an error in the scope, if they do not fit.
std::vector<PartialShape> Shapes(const Scope& s, const Lists& lists, const BatchOptions& options) {
  std::vector<PartialShape> shapes = options.shapes;
  if (shapes.empty()) {
    for (const Output& tensor : lists[0]) shapes.push_back(ExampleShape(s, tensor, options.enqueue_many));
    for (const std::vector<Output>& list : lists) {
      for (size_t i = 0; i < shapes.size(); ++i) {
        shapes[i] = Common(shapes[i], ExampleShape(s, list[i], options.enqueue_many));
      }
    }
  }
  if (shapes.size() != lists[0].size()) s.Fail(errors::InvalidArgument("A batch needs one shape for each tensor"));
  for (const PartialShape& shape : shapes) {
    if (options.dynamic_pad ? !shape.rank_known() : !shape.IsFullyDefined()) {
      s.Fail(errors::InvalidArgument("All shapes must be fully defined: ", shape.ToString()));
    }
  }
  return shapes;
}

bool Check(const Scope& scope, const Lists& lists, int64_t batch_size) {
  if (lists.empty() || lists[0].empty()) scope.Fail(errors::InvalidArgument("A batch needs at least one tensor"));
  if (batch_size <= 0) scope.Fail(errors::InvalidArgument("A batch of ", batch_size, " examples"));
  for (const std::vector<Output>& list : lists) {
    bool fits = list.size() == lists[0].size();
    for (size_t i = 0; fits && i < list.size(); ++i)
      fits = list[i] && lists[0][i] && list[i].dtype() == lists[0][i].dtype();
    if (!fits) scope.Fail(errors::InvalidArgument("Lists of tensors to batch must have the same types"));
  }
  return scope.ok();
}

std::vector<Output> MakeBatch(const Scope& scope, const Lists& lists, int64_t batch_size, const BatchOptions& options,
                              InputQueue how, const char* base) {
  if (!scope.ok() || !Check(scope, lists, batch_size)) return {};
  const Scope s = scope.NameScope(options.name.empty() ? base : options.name.c_str());
  how.shapes = Shapes(s, lists, options);
  how.capacity = options.capacity;
  how.shared_name = options.shared_name;
  for (const Output& tensor : lists[0]) how.types.push_back(tensor.dtype());
  const Output queue = MakeInputQueue(s, how);
  if (!s.ok()) return {};
  SummarizeFullness(s, queue, how.min_after_dequeue, options.capacity);
  std::vector<Node*> enqueues;
  for (const std::vector<Output>& list : lists) {
    std::vector<Output> inputs = {queue};
    inputs.insert(inputs.end(), list.begin(), list.end());
    Node* enqueue = s.WithOpName(QueueOpName(queue, options.enqueue_many ? "EnqueueMany" : "enqueue"))
                        .Add(options.enqueue_many ? "QueueEnqueueManyV2" : "QueueEnqueueV2", inputs);
    const int64_t threads = lists.size() > 1 ? 1 : std::max<int64_t>(1, options.num_threads);
    enqueues.insert(enqueues.end(), static_cast<size_t>(threads), enqueue);
  }
  RunQueue(s, queue, enqueues);
  Node* dequeue =
      s.WithOpName(s.name_prefix())
          .Add(options.allow_smaller_final_batch ? "QueueDequeueUpToV2" : "QueueDequeueManyV2",
               {queue, s.WithOpName("n").Const(static_cast<int32_t>(batch_size))}, {{"component_types", how.types}});
  std::vector<Output> batch;
  for (int i = 0; dequeue != nullptr && i < dequeue->num_outputs(); ++i) {
    batch.emplace_back(dequeue, i);
    const PartialShape rows({options.allow_smaller_final_batch ? -1 : batch_size});
    if (Status merged = s.shapes().MergeShape(batch.back(), rows.Concatenate(how.shapes[static_cast<size_t>(i)]));
        !merged.ok()) {
      s.Fail(merged);
    }
  }
  return s.ok() ? batch : std::vector<Output>();
}

InputQueue Fifo(const BatchOptions& options) {
  InputQueue how;
  if (options.dynamic_pad) how.type = "PaddingFIFOQueueV2";
  return how;
}

InputQueue Shuffled(const Scope& scope, int64_t min_after_dequeue, const BatchOptions& options, const Seed& seed) {
  if (options.dynamic_pad) scope.Fail(errors::InvalidArgument("Shuffled batches cannot be padded"));
  InputQueue how;
  how.type = "RandomShuffleQueueV2";
  how.min_after_dequeue = min_after_dequeue;
  how.seed = seed;
  return how;
}

}  // namespace

std::vector<Output> Batch(const Scope& scope, const std::vector<Output>& tensors, int64_t batch_size,
                          const BatchOptions& options) {
  return MakeBatch(scope, {tensors}, batch_size, options, Fifo(options), "batch");
}

std::vector<Output> ShuffleBatch(const Scope& scope, const std::vector<Output>& tensors, int64_t batch_size,
                                 int64_t min_after_dequeue, const BatchOptions& options, Seed seed) {
  return MakeBatch(scope, {tensors}, batch_size, options, Shuffled(scope, min_after_dequeue, options, seed),
                   "shuffle_batch");
}

std::vector<Output> BatchJoin(const Scope& scope, const Lists& lists, int64_t batch_size, const BatchOptions& options) {
  return MakeBatch(scope, lists, batch_size, options, Fifo(options), "batch_join");
}

std::vector<Output> ShuffleBatchJoin(const Scope& scope, const Lists& lists, int64_t batch_size,
                                     int64_t min_after_dequeue, const BatchOptions& options, Seed seed) {
  return MakeBatch(scope, lists, batch_size, options, Shuffled(scope, min_after_dequeue, options, seed),
                   "shuffle_batch_join");
}

}  // namespace millstream::input
