// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/batch_queue.h"

#include <algorithm>
#include <chrono>

#include "millstream/framework/op_def.h"
#include "millstream/ops/elements/side_by_side.h"

namespace millstream {

StatusOr<BatchOptions> BatchOptions::Read(const AttrMap& attrs) {
  BatchOptions o;
  RETURN_IF_ERROR(attrs.Get("num_batch_threads", &o.threads));
  RETURN_IF_ERROR(attrs.Get("max_batch_size", &o.max_rows));
  RETURN_IF_ERROR(attrs.Get("max_enqueued_batches", &o.max_waiting));
  RETURN_IF_ERROR(attrs.Get("batch_timeout_micros", &o.timeout_us));
  RETURN_IF_ERROR(attrs.Get("allowed_batch_sizes", &o.allowed));
  if (o.threads <= 0) return errors::InvalidArgument("num_batch_threads must be positive; was ", o.threads);
  if (o.max_rows <= 0) return errors::InvalidArgument("max_batch_size must be positive; was ", o.max_rows);
  if (o.timeout_us < 0) {
    return errors::InvalidArgument("batch_timeout_micros must be non-negative; was ", o.timeout_us);
  }
  for (size_t i = 0; i < o.allowed.size(); ++i) {
    if (o.allowed[i] <= (i == 0 ? 0 : o.allowed[i - 1])) {
      return errors::InvalidArgument("allowed_batch_sizes entries must be monotonically increasing");
    }
  }
  bool splits = false;
  if (attrs.Has("enable_large_batch_splitting")) RETURN_IF_ERROR(attrs.Get("enable_large_batch_splitting", &splits));
  if (!splits && !o.allowed.empty() && o.allowed.back() != o.max_rows) {
    return errors::InvalidArgument(
        "final entry in allowed_batch_sizes must equal max_batch_size when enable_large_batch_splitting is False");
  }
  return o;
}

namespace {

Status CheckAlike(const BatchTask& a, const BatchTask& b) {
  const auto same_type = [](const Tensor& x, const Tensor& y) { return x.dtype() == y.dtype(); };
  KernelContext &to_a = a.call->ctx(), &to_b = b.call->ctx();
  bool alike = to_a.op().name == to_b.op().name && a.with_rows == b.with_rows &&
               std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same_type) &&
               to_a.num_outputs() == to_b.num_outputs();
  for (int i = 0; alike && i < to_a.num_outputs(); ++i) alike = to_a.output_dtype(i) == to_b.output_dtype(i);
  if (alike) return OkStatus();
  return errors::InvalidArgument("Node ", to_b.node_name(), " cannot share a batching queue with node ",
                                 to_a.node_name(), ", whose inputs and outputs are not alike: give them different ",
                                 "values of shared_name or batching_queue");
}

}  // namespace

TimerQueue::Clock::time_point TimeoutAfter(int32_t micros) {
  return TimerQueue::Clock::now() + std::chrono::microseconds(std::max(micros, 0));
}

ThreadPool* BatchQueue::Batch::pool() const {
  KernelContext& ctx = tasks.back().call->ctx();
  return ctx.step().pool != nullptr ? ctx.step().pool : ctx.pool();
}

Status BatchQueue::Add(BatchTask task) {
  if (task.rows > options_.max_rows) {
    return errors::InvalidArgument("Task size ", task.rows, " is larger than maximum input batch size ",
                                   options_.max_rows);
  }
  MutexLock lock(mu_);
  if (task.call->taken()) return OkStatus();  // cancelled since
  if (open_ != nullptr && open_->rows + task.rows > options_.max_rows) Close();
  if (open_ != nullptr) {
    RETURN_IF_ERROR(CheckAlike(open_->tasks.front(), task));
  } else {
    if (static_cast<int64_t>(closed_.size()) >= options_.max_waiting && running_ >= options_.threads) {
      return errors::Unavailable("The batch scheduling queue to which this task was submitted is full; currently ",
                                 closed_.size(), " batches enqueued and max_enqueued_batches is ",
                                 options_.max_waiting);
    }
    open_ = std::make_shared<Batch>();
    const std::weak_ptr<Batch> waiting = open_;
    open_->timer = timers_.Add(TimeoutAfter(options_.timeout_us), [this, waiting] {
      MutexLock timer_lock(mu_);
      if (open_ != nullptr && open_ == waiting.lock()) Close();
    });
  }
  task.queue = Ref<Resource>(Ref<BatchQueue>::Share(this));
  open_->rows += task.rows;
  open_->tasks.push_back(std::move(task));
  if (open_->rows >= options_.max_rows) Close();
  return OkStatus();
}

void BatchQueue::Withdraw(const std::shared_ptr<ParkedCall>& call) {
  BatchTasks withdrawn;  // dropped outside the lock
  MutexLock lock(mu_);
  const auto take = [&](Batch& batch) {
    for (size_t i = 0; i < batch.tasks.size(); ++i) {
      if (batch.tasks[i].call != call) continue;
      batch.rows -= batch.tasks[i].rows;
      withdrawn.push_back(std::move(batch.tasks[i]));
      batch.tasks.erase(batch.tasks.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  };
  for (const std::shared_ptr<Batch>& batch : closed_) take(*batch);
  std::erase_if(closed_, [](const std::shared_ptr<Batch>& batch) { return batch->tasks.empty(); });
  if (open_ == nullptr) return;
  take(*open_);
  if (!open_->tasks.empty()) return;
  timers_.Cancel(open_->timer, /*wait=*/false);
  open_ = nullptr;
}

// The batch goes behind those that are closed; a thread of its steps sees to them.
void BatchQueue::Close() {
  timers_.Cancel(open_->timer, /*wait=*/false);
  ThreadPool* const pool = open_->pool();
  closed_.push_back(std::move(open_));
  open_ = nullptr;
  pool->Schedule([self = Ref<BatchQueue>::Share(this)] { self->StartBatches(); });
}

void BatchQueue::StartBatches() {
  for (;;) {
    std::shared_ptr<Batch> batch;
    {
      MutexLock lock(mu_);
      if (closed_.empty() || running_ >= options_.threads) return;
      batch = std::move(closed_.front());
      closed_.pop_front();
      ++running_;
    }
    Run(batch);
  }
}

void BatchQueue::Run(const std::shared_ptr<Batch>& batch) {
  std::erase_if(batch->tasks, [](BatchTask& task) { return !task.call->Take(); });  // cancelled since
  const auto finished = [self = Ref<BatchQueue>::Share(this)] {
    MutexLock lock(self->mu_);
    --self->running_;
    if (!self->closed_.empty()) self->closed_.front()->pool()->Schedule([self] { self->StartBatches(); });
  };
  if (batch->tasks.empty()) return finished();
  const BatchWork work = std::move(batch->tasks.back().work);
  work(std::move(batch->tasks), finished);
}

StatusOr<Tensor> JoinRows(KernelContext& ctx, const std::vector<Tensor>& parts) {
  Shape shape = parts[0].shape();
  ColumnBlocks blocks;
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    Shape row = part.shape();
    if (row.rank() == 0) return errors::InvalidArgument("Batching input tensors must have at least one dimension");
    row.set_dim(0, shape.dim(0));
    if (row != shape || part.dtype() != parts[0].dtype()) {
      return errors::InvalidArgument("Batching input tensors must be alike: ", shape.ToString(), " vs. ",
                                     part.shape().ToString());
    }
    rows += part.dim(0);
    if (part.num_elements() > 0) blocks.push_back({const_cast<void*>(part.raw()), part.num_elements()});
  }
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = rows;
  ASSIGN_OR_RETURN(shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor joined, ctx.AllocateTemp(parts[0].dtype(), shape));
  if (shape.num_elements() > 0) JoinColumns(ctx, joined.dtype(), blocks, 1, joined.raw());
  return joined;
}

}  // namespace millstream
