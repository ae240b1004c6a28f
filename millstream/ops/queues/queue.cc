// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/queue.h"

#include <algorithm>

#include "millstream/base/memory_budget.h"

namespace millstream {

Queue::Queue(Options options, std::unique_ptr<QueueStore> store)
    : options_(std::move(options)), observed_(std::make_shared<ObservedQueue>()), store_(std::move(store)) {
  observed_->kind = options_.kind;
  observed_->name = options_.name;
  observed_->device = options_.device;
  observed_->capacity = options_.capacity;
  if (options_.census) options_.census->Add(observed_);
}

void Queue::Show() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  observed_->size.store(store_->size(), kRelaxed);
  observed_->waiting_to_enqueue.store(static_cast<int64_t>(enqueues_.size()), kRelaxed);
  observed_->waiting_to_dequeue.store(static_cast<int64_t>(dequeues_.size()), kRelaxed);
  observed_->closed.store(closed_, kRelaxed);
}

Status Queue::CheckElement(const QueueElement& tuple, bool many) const {
  if (tuple.size() != options_.types.size()) {
    return errors::InvalidArgument("Wrong number of components in tuple. Expected ", options_.types.size(), ", got ",
                                   tuple.size());
  }
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].dtype() != options_.types[i]) {
      return errors::InvalidArgument("Type mismatch in tuple component ", i, ". Expected ",
                                     DTypeName(options_.types[i]), ", got ", DTypeName(tuple[i].dtype()));
    }
    const Shape& got = tuple[i].shape();
    if (many && got.rank() == 0) {
      return errors::InvalidArgument("Shape mismatch in tuple component ", i, ". Expected a batch, got []");
    }
    if (many && got.dim(0) != tuple[0].dim(0)) {
      return errors::InvalidArgument(
          "All input tensors must have the same size in the 0th dimension. "
          "Component ",
          i, " has ", got.dim(0), ", and should have ", tuple[0].dim(0));
    }
    if (options_.shapes.empty()) continue;
    PartialShape expected = options_.shapes[i];
    if (many && expected.rank_known()) expected = PartialShape({got.dim(0)}).Concatenate(expected);
    if (!expected.IsCompatibleWith(got)) {
      return errors::InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ", expected.ToString(),
                                     ", got ", got.ToString());
    }
  }
  return OkStatus();
}

void Queue::Enqueue(std::vector<QueueElement> elements, const Waiter& waiter, Done done) {
  if (MemoryIsExhausted()) return done(MemoryExhausted());
  auto attempt = std::make_shared<Attempt>();
  attempt->kind = Attempt::Kind::kEnqueue;
  attempt->elements = std::move(elements);
  attempt->waiter = waiter;
  attempt->done = [done = std::move(done)](const StatusOr<std::vector<QueueElement>>& result) {
    done(result.status());
  };
  Submit(std::move(attempt));
}

void Queue::Dequeue(int64_t n, bool up_to, const Waiter& waiter, TakeDone done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->kind = Attempt::Kind::kDequeue;
  attempt->wanted = n;
  attempt->up_to = up_to;
  attempt->waiter = waiter;
  attempt->done = std::move(done);
  Submit(std::move(attempt));
}

void Queue::Close(bool cancel_pending_enqueues, const Waiter& waiter, Done done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->kind = Attempt::Kind::kClose;
  attempt->waiter = waiter;
  attempt->done = [done = std::move(done)](const StatusOr<std::vector<QueueElement>>& result) {
    done(result.status());
  };
  if (cancel_pending_enqueues) {
    Attempts cancelled;
    {
      MutexLock lock(mu_);
      if (!closed_) {
        cancelled.swap(enqueues_);
        for (const AttemptPtr& a : cancelled) Finish(*a, errors::Cancelled("Enqueue operation was cancelled"));
      }
    }
    Report(cancelled, nullptr);
  }
  Submit(std::move(attempt));
}

bool Queue::IsClosed() {
  MutexLock lock(mu_);
  return closed_;
}

int64_t Queue::Size() {
  MutexLock lock(mu_);
  return store_->size();
}

void Queue::Submit(AttemptPtr attempt) {
  Attempts finished;
  {
    MutexLock lock(mu_);
    Attempts& list = attempt->kind == Attempt::Kind::kDequeue ? dequeues_ : enqueues_;
    list.push_back(attempt);
    Flush(&finished);
    // Waiting begins here, and with it the need to hear of cancellation.
    // Callbacks run without the cancellation's lock, so taking it under ours is
    // safe.
    if (!attempt->finished && attempt->waiter.cancellation != nullptr &&
        !attempt->waiter.cancellation->Register([self = Ref<Queue>::Share(this), attempt] { self->Cancel(attempt); },
                                                &attempt->token)) {
      list.remove(attempt);
      Finish(*attempt, attempt->waiter.cancellation->status());
      finished.push_back(attempt);
      Flush(&finished);
    }
  }
  Report(finished, attempt.get());
}

void Queue::Cancel(const AttemptPtr& attempt) {
  Attempts finished;
  {
    MutexLock lock(mu_);
    if (attempt->finished) return;
    const bool dequeue = attempt->kind == Attempt::Kind::kDequeue;
    (dequeue ? dequeues_ : enqueues_).remove(attempt);
    attempt->token = -1;
    Finish(*attempt, errors::Cancelled(dequeue                                  ? "Dequeue"
                                       : attempt->kind == Attempt::Kind::kClose ? "Close"
                                                                                : "Enqueue",
                                       " operation was cancelled"));
    finished.push_back(attempt);
    Flush(&finished);  // the next in line may go on
  }
  Report(finished, nullptr);
}

void Queue::Finish(Attempt& attempt, Status status) {
  attempt.finished = true;
  if (!status.ok() && attempt.kind == Attempt::Kind::kDequeue) store_->PutBack(std::exchange(attempt.elements, {}));
  attempt.status = std::move(status);
}

void Queue::Flush(Attempts* finished) {
  bool moved = true;
  while (moved) {
    moved = false;
    while (!enqueues_.empty() && TryEnqueue(*enqueues_.front())) {
      moved = true;
      finished->splice(finished->end(), enqueues_, enqueues_.begin());
    }
    // Elements that a first dequeue took make room even if it is not done yet.
    const int64_t before = store_->size();
    while (!dequeues_.empty() && TryDequeue(*dequeues_.front())) {
      moved = true;
      finished->splice(finished->end(), dequeues_, dequeues_.begin());
    }
    if (store_->size() < before && !enqueues_.empty()) moved = true;
  }
  Show();
}

// True if the attempt is finished.
bool Queue::TryEnqueue(Attempt& attempt) {
  if (attempt.kind == Attempt::Kind::kClose) {
    Finish(attempt, closed_ ? errors::Cancelled("Queue '", options_.name, "' is already closed.") : OkStatus());
    closed_ = true;
    return true;
  }
  if (closed_) {
    Finish(attempt, errors::Cancelled(options_.kind, " '", options_.name, "' is closed."));
    return true;
  }
  while (attempt.next < attempt.elements.size()) {
    if (options_.capacity >= 0 && store_->size() >= options_.capacity) return false;
    store_->Add(std::move(attempt.elements[attempt.next++]));
    if (attempt.waiter.added != nullptr) ++*attempt.waiter.added;
  }
  Finish(attempt, OkStatus());
  return true;
}

bool Queue::TryDequeue(Attempt& attempt) {
  const int64_t missing = attempt.wanted - static_cast<int64_t>(attempt.elements.size());
  const int64_t size = store_->size();
  if (closed_ && size < missing) {
    const int64_t total = size + static_cast<int64_t>(attempt.elements.size());
    if (!attempt.up_to || total == 0) {
      Finish(attempt, errors::OutOfRange(options_.kind, " '", options_.name,
                                         "' is closed and has insufficient elements (requested ", attempt.wanted,
                                         ", current size ", total, ")"));
      return true;
    }
    attempt.wanted = total;
  }
  if (store_->takes_together() && size < attempt.wanted) return false;
  int64_t available = closed_ ? size : size - options_.min_after_dequeue;
  while (available-- > 0 && static_cast<int64_t>(attempt.elements.size()) < attempt.wanted)
    attempt.elements.push_back(store_->Take());
  if (static_cast<int64_t>(attempt.elements.size()) < attempt.wanted) return false;
  Finish(attempt, OkStatus());
  return true;
}

void Queue::Report(const Attempts& finished, const Attempt* own) {
  for (const AttemptPtr& a : finished) {
    if (a->token >= 0) a->waiter.cancellation->TryDeregister(a->token);
    auto call = [a] {
      if (!a->status.ok()) return a->done(a->status);
      a->done(a->kind == Attempt::Kind::kDequeue ? std::move(a->elements) : std::vector<QueueElement>());
    };
    if (a.get() == own || a->waiter.pool == nullptr)
      call();
    else
      a->waiter.pool->Schedule(std::function<void()>(std::move(call)));
  }
}

}  // namespace millstream
