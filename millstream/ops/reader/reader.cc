// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/reader/reader.h"

namespace millstream {

void Reader::Read(Ref<Queue> queue, int64_t wanted, Queue::Waiter waiter, Done done) {
  {
    MutexLock lock(mu_);
    requests_.push_back({Ref<Reader>::Share(this), std::move(queue), wanted, waiter, std::move(done)});
    if (requests_.size() > 1) return;
  }
  Work();
}

bool Reader::TryRead(int64_t wanted, Records* records, Status* status) {
  while (next_ && static_cast<int64_t>(records->size()) < wanted) {
    std::string key, value;
    *status = next_(&key, &value);
    if (status->ok()) {
      records->emplace_back(std::move(key), std::move(value));
      if (!one_record_) continue;
    }
    next_ = nullptr;
    if (!status->ok() && !absl::IsOutOfRange(*status)) break;
    *status = OkStatus();
    MutexLock lock(mu_);
    ++completed_;
  }
  return records->empty() && status->ok();
}

void Reader::Work() {
  Ref<Queue> queue;
  Queue::Waiter waiter;
  int64_t wanted = 0;
  {
    MutexLock lock(mu_);
    queue = requests_.front().queue;
    waiter = requests_.front().waiter;
    wanted = requests_.front().wanted;
  }
  Records records;
  Status status;
  if (!TryRead(wanted, &records, &status)) {
    if (!status.ok() && records.empty()) return Finish(status);
    return Finish(std::move(records));
  }
  ThreadPool* const pool = waiter.pool;
  queue->Dequeue(1, false, waiter, [this, pool](StatusOr<std::vector<QueueElement>> taken) {
    // On the pool: files are slow, and a queue full of empty ones must not pile up calls on this stack.
    if (pool == nullptr) return Opened(taken);
    pool->Schedule([this, taken = std::move(taken)] { Opened(taken); });
  });
}

void Reader::Opened(const StatusOr<std::vector<QueueElement>>& taken) {
  if (!taken.ok()) return Finish(taken.status());
  const QueueElement& element = taken->front();
  if (element.size() != 1 || element[0].dtype() != DType::kString || element[0].num_elements() != 1) {
    return Finish(errors::InvalidArgument("Expected one string tensor of work units from the queue"));
  }
  unit_ = element[0].scalar<std::string>();
  {
    MutexLock lock(mu_);
    ++started_;
  }
  StatusOr<NextRecord> next = open_(unit_);
  if (!next.ok()) return Finish(next.status());
  next_ = *std::move(next);
  Work();
}

void Reader::Finish(StatusOr<Records> answer) {
  Request request;
  bool more = false;
  {
    MutexLock lock(mu_);
    if (answer.ok()) produced_ += static_cast<int64_t>(answer->size());
    request = std::move(requests_.front());
    requests_.pop_front();
    more = !requests_.empty();
  }
  request.done(std::move(answer));
  if (more) Work();
}

int64_t Reader::records_produced() {
  MutexLock lock(mu_);
  return produced_;
}

int64_t Reader::units_completed() {
  MutexLock lock(mu_);
  return completed_;
}

Status Reader::Reset() {
  MutexLock lock(mu_);
  if (!requests_.empty()) return errors::FailedPrecondition("Cannot reset ", name_, " while it reads");
  next_ = nullptr;
  produced_ = started_ = completed_ = 0;
  return OkStatus();
}

}  // namespace millstream
