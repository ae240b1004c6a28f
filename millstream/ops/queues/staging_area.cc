// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/staging_area.h"

#include <algorithm>

#include "millstream/base/memory_budget.h"

namespace millstream {
namespace {

int64_t BytesOf(const std::vector<Tensor>& values) {
  int64_t bytes = 0;
  for (const Tensor& t : values) bytes += static_cast<int64_t>(t.ByteSize());
  return bytes;
}

Status CheckIndices(const StagingArea::Operation& operation, size_t width) {
  if (operation.indices.empty()) return errors::InvalidArgument("Indices are empty");
  for (size_t i = 0; i < operation.indices.size(); ++i) {
    const int32_t index = operation.indices[i];
    if (i > 0 && index <= operation.indices[i - 1]) {
      return errors::InvalidArgument("Indices are not strictly ordered");
    }
    if (index < 0 || static_cast<size_t>(index) >= width) {
      return errors::InvalidArgument("Index '", index, "' for key '", operation.key, "' was out of bounds '", width,
                                     "'.");
    }
  }
  return OkStatus();
}

}  // namespace

void StagingArea::Submit(OperationPtr operation, Cancellation* cancellation, ThreadPool* pool,
                         std::function<void(Status)> done) {
  auto parked = std::make_shared<Parked>();
  parked->operation = std::move(operation);
  parked->cancellation = cancellation;
  parked->pool = pool;
  parked->done = std::move(done);
  ParkedList finished;
  {
    MutexLock lock(mu_);
    parked_.push_back(parked);
    Sweep(&finished);
    // Cancellation callbacks run without the cancellation's lock, so taking it under ours is safe.
    if (!parked->finished && cancellation != nullptr &&
        !cancellation->Register([self = Ref<StagingArea>::Share(this), parked] { self->Cancel(parked); },
                                &parked->token)) {
      parked_.remove(parked);
      parked->finished = true;
      parked->status = cancellation->status();
      finished.push_back(parked);
    }
  }
  Report(finished, parked.get());
}

void StagingArea::Clear() {
  ParkedList finished;
  {
    MutexLock lock(mu_);
    whole_.clear();
    incomplete_.clear();
    bytes_ = 0;
    Sweep(&finished);
  }
  Report(finished, nullptr);
}

int64_t StagingArea::size() {
  MutexLock lock(mu_);
  return static_cast<int64_t>(whole_.size());
}

int64_t StagingArea::incomplete_size() {
  MutexLock lock(mu_);
  return static_cast<int64_t>(incomplete_.size());
}

void StagingArea::Sweep(ParkedList* finished) {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto it = parked_.begin(); it != parked_.end();) {
      const auto next = std::next(it);
      Parked& p = **it;
      if (Try(*p.operation, &p.status)) {
        p.finished = moved = true;
        finished->splice(finished->end(), parked_, it);
      }
      it = next;
    }
  }
}

void StagingArea::Cancel(const ParkedPtr& parked) {
  {
    MutexLock lock(mu_);
    if (parked->finished) return;
    parked_.remove(parked);
    parked->finished = true;
    parked->token = -1;
    parked->status = errors::Cancelled("Staging operation was cancelled");
  }
  Report({parked}, nullptr);
}

void StagingArea::Report(const ParkedList& finished, const Parked* own) {
  for (const ParkedPtr& p : finished) {
    if (p->token >= 0) p->cancellation->TryDeregister(p->token);
    if (p.get() == own || p->pool == nullptr) {
      p->done(p->status);
    } else {
      p->pool->Schedule(std::function<void()>([p] { p->done(p->status); }));
    }
  }
}

bool StagingArea::Try(Operation& operation, Status* status) {
  const bool put = operation.kind == Operation::Kind::kPut || operation.kind == Operation::Kind::kAppend;
  return put ? TryPut(operation, status) : TryFind(operation, status);
}

bool StagingArea::TryPut(Operation& operation, Status* status) {
  const bool append = operation.kind == Operation::Kind::kAppend;
  if (!append) *status = CheckIndices(operation, operation.width);
  if (status->ok() && MemoryIsExhausted()) *status = MemoryExhausted();
  const int64_t bytes = BytesOf(operation.values);
  if (status->ok() && limits_.bytes > 0 && bytes > limits_.bytes) {
    *status = errors::ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                                        "' bytes into Staging Area with a memory limit of '", limits_.bytes, "'.");
  }
  if (!status->ok()) return true;
  const bool whole = append || operation.indices.size() == operation.width;
  if (limits_.bytes > 0 && bytes_ + bytes > limits_.bytes) return false;
  if (whole && limits_.tuples > 0 && static_cast<int64_t>(whole_.size()) >= limits_.tuples) return false;
  if (!whole) {
    *status = PutPieces(operation, bytes);
    return true;
  }
  Tuple tuple(std::make_move_iterator(operation.values.begin()), std::make_move_iterator(operation.values.end()));
  if (whole_.emplace(append ? next_key_++ : operation.key, std::move(tuple)).second) bytes_ += bytes;
  return true;
}

Status StagingArea::PutPieces(Operation& operation, int64_t bytes) {
  Tuple& tuple = incomplete_[operation.key];
  tuple.resize(std::max(tuple.size(), operation.width));
  for (const int32_t index : operation.indices) {
    if (tuple[index].has_value()) {
      return errors::InvalidArgument("The tensor for index '", index, "' for key '", operation.key,
                                     "' was already initialized '", operation.width, "'.");
    }
  }
  for (size_t i = 0; i < operation.indices.size(); ++i) tuple[operation.indices[i]] = std::move(operation.values[i]);
  bytes_ += bytes;
  if (std::all_of(tuple.begin(), tuple.end(), [](const auto& piece) { return piece.has_value(); })) {
    whole_.emplace(operation.key, std::move(tuple));
    incomplete_.erase(operation.key);
  }
  return OkStatus();
}

bool StagingArea::TryFind(Operation& operation, Status* status) {
  using Kind = Operation::Kind;
  auto found = whole_.end();
  if (operation.kind == Kind::kTakeFirst) {
    found = whole_.begin();
  } else if (operation.kind == Kind::kPeekAt) {
    if (operation.key < static_cast<int64_t>(whole_.size())) found = std::next(whole_.begin(), operation.key);
  } else {
    found = whole_.find(operation.key);
  }
  if (found == whole_.end()) return false;
  Tuple& tuple = found->second;
  if (operation.kind == Kind::kTakeFirst) operation.key = found->first;
  std::vector<int32_t> indices = operation.indices;
  if (indices.empty()) {
    for (size_t i = 0; i < tuple.size(); ++i) indices.push_back(static_cast<int32_t>(i));
  } else if (*status = CheckIndices(operation, tuple.size()); !status->ok()) {
    return true;
  }
  for (const int32_t index : indices) {
    if (!tuple[index].has_value()) {
      *status = errors::InvalidArgument("Tensor at index '", index, "' for key '", operation.key,
                                        "' has already been removed.");
      return true;
    }
  }
  for (const int32_t index : indices) operation.values.push_back(*tuple[index]);
  if (operation.kind == Kind::kPeek || operation.kind == Kind::kPeekAt) return true;
  for (const int32_t index : indices) tuple[index].reset();
  bytes_ -= BytesOf(operation.values);
  if (std::none_of(tuple.begin(), tuple.end(), [](const auto& piece) { return piece.has_value(); })) {
    whole_.erase(found);
  }
  return true;
}

}  // namespace millstream
