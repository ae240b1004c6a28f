// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/reader/reader.h"

#include "absl/strings/escaping.h"
#include "millstream/proto/reader_base.pb.h"

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

Status Reader::CheckState(const char* what) {
  if (!one_record_) return errors::Unimplemented("Reader ", what);
  if (!requests_.empty()) return errors::FailedPrecondition(what, " of ", name_, " while it reads");
  return OkStatus();
}

StatusOr<std::string> Reader::SerializeState() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckState("SerializeState"));
  proto::ReaderBaseState state;
  state.set_work_started(started_);
  state.set_work_finished(completed_);
  state.set_num_records_produced(produced_);
  state.set_current_work(unit_);
  return state.SerializeAsString();
}

Status Reader::RestoreState(const std::string& serialized) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckState("RestoreState"));
  proto::ReaderBaseState state;
  if (!state.ParseFromString(serialized)) {
    return errors::InvalidArgument("Could not parse state for ", name_, ": ", absl::CEscape(serialized));
  }
  if (state.work_started() < 0 || state.work_finished() < 0 || state.num_records_produced() < 0) {
    return errors::InvalidArgument("Unexpected negative value when restoring in ", name_, ": ", state.DebugString());
  }
  if (state.work_started() > state.work_finished()) {
    return errors::InvalidArgument("Inconsistent work started vs. finished when restoring in ", name_, ": ",
                                   state.DebugString());
  }
  next_ = nullptr;
  started_ = state.work_started();
  completed_ = state.work_finished();
  produced_ = state.num_records_produced();
  unit_ = state.current_work();
  return OkStatus();
}

}  // namespace millstream
