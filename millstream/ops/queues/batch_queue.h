// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_BATCH_QUEUE_H_
#define MILLSTREAM_OPS_QUEUES_BATCH_QUEUE_H_

#include <deque>
#include <memory>
#include <vector>

#include "millstream/base/timer_queue.h"
#include "millstream/framework/kernel.h"
#include "millstream/ops/resources/parked_call.h"

namespace millstream {

struct BatchTask;
using BatchTasks = std::vector<BatchTask>;
// Works on the tasks of a batch, whose calls it has taken and ends, and then calls `finished`.
using BatchWork = std::function<void(BatchTasks tasks, std::function<void()> finished)>;

// Rows that a call brings to a batch.
struct BatchTask {
  Ref<Resource> queue;  // as long as it waits there
  std::shared_ptr<ParkedCall> call;
  std::vector<Tensor> inputs;
  size_t with_rows = 0;  // the first so many inputs all have `rows` rows
  int64_t rows = 0;
  int64_t id = 0;
  BatchWork work;  // of the call's kernel, which may be gone after the call
};

struct BatchOptions {
  int32_t threads = 1;           // batches that are worked on at once
  int32_t max_rows = 1;          // of a batch
  int32_t max_waiting = 10;      // batches behind those
  int32_t timeout_us = 0;        // how long the first task of a batch waits for others
  std::vector<int64_t> allowed;  // numbers of rows that a batch is padded to; empty: any

  // From the attributes of Batch and BatchFunction. InvalidArgument for numbers beyond 32 bits, a negative timeout, and
  // sizes that do not grow up to the largest batch.
  static StatusOr<BatchOptions> Read(const AttrMap& attrs);
};

// Collects tasks of different steps to batches. A batch goes to work, that of its last task, when it is full or its
// first task has waited long enough. Sessions share queues by name, maybe by accident: all that a batch needs comes
// from calls that are still in it. Thread-safe; nothing blocks.
class BatchQueue final : public Resource {
 public:
  explicit BatchQueue(BatchOptions options) : options_(std::move(options)) {}
  std::string DebugString() const override { return "BatchQueue"; }
  const BatchOptions& options() const { return options_; }

  // InvalidArgument for a task larger than a batch, or of another op, or with other inputs or outputs (their number and
  // types) than the first task of the batch that it would join; Unavailable if too many batches wait. The call of the
  // task is left to the caller then.
  Status Add(BatchTask task);
  // Of a call that has been cancelled.
  void Withdraw(const std::shared_ptr<ParkedCall>& call);

 private:
  struct Batch {
    BatchTasks tasks;  // not empty as long as it is in the queue
    int64_t rows = 0;
    TimerQueue::Id timer = 0;
    ThreadPool* pool() const;  // of its last call
  };
  void Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartBatches();
  void Run(const std::shared_ptr<Batch>& batch);

  const BatchOptions options_;
  Mutex mu_;
  std::shared_ptr<Batch> open_ ABSL_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<Batch>> closed_ ABSL_GUARDED_BY(mu_);
  int64_t running_ ABSL_GUARDED_BY(mu_) = 0;
  TimerQueue timers_;  // last: its thread uses what is above
};

// In so many microseconds; at once if negative.
TimerQueue::Clock::time_point TimeoutAfter(int32_t micros);

// Tensors one below the other. InvalidArgument unless they are alike but for the number of rows.
StatusOr<Tensor> JoinRows(KernelContext& ctx, const std::vector<Tensor>& parts);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_BATCH_QUEUE_H_
