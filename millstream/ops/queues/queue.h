// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_QUEUE_H_
#define MILLSTREAM_OPS_QUEUES_QUEUE_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/cancellation.h"
#include "millstream/base/thread_pool.h"
#include "millstream/framework/monitoring/census.h"
#include "millstream/ops/queues/queue_store.h"

namespace millstream {

// A bounded queue of tuples of tensors that steps share. Thread-safe.
//
// Operations never block: what cannot finish is parked and goes on, in the
// order of arrival, when others make room or add elements. `done` is called
// exactly once; for operations that finish later it runs on their step's pool,
// so nobody's thread does another step's work. A cancelled operation leaves no
// trace: what it had taken goes back, what it had not yet added is dropped.
class Queue final : public Resource {
 public:
  struct Options {
    std::string kind;  // "FIFOQueue", as error messages call it
    std::string name;
    std::string device;  // full name of the device it lives on
    Ref<Census> census;  // where it is listed; null: nowhere
    std::vector<DType> types;
    std::vector<PartialShape> shapes;  // empty: any
    int64_t capacity = -1;             // negative: unbounded
    int64_t min_after_dequeue = 0;     // stays inside while the queue is open
    int64_t seed = 0, seed2 = 0;       // of a RandomShuffleQueue
    bool pad = false;                  // elements of different shapes are padded with zeros to
                                       // one batch
  };
  // Who waits: its step's cancellation and pool (null: `done` runs where the
  // operation finishes). `added` counts the elements that an enqueue adds; null:
  // nobody wants to know.
  struct Waiter {
    Cancellation* cancellation = nullptr;
    ThreadPool* pool = nullptr;
    int64_t* added = nullptr;
  };
  using Done = std::function<void(Status)>;
  using TakeDone = std::function<void(StatusOr<std::vector<QueueElement>>)>;

  Queue(Options options, std::unique_ptr<QueueStore> store);

  const Options& options() const { return options_; }
  std::string DebugString() const override { return absl::StrCat(options_.kind, " ", options_.name); }

  // InvalidArgument unless a tuple of these types and shapes may be an element
  // (or, with `many`, a batch of elements).
  Status CheckElement(const QueueElement& tuple, bool many) const;
  // Adds all elements, as room appears. Cancelled if the queue is or gets
  // closed. REQUIRES: CheckElement() is OK for each.
  void Enqueue(std::vector<QueueElement> elements, const Waiter& waiter, Done done);
  // Takes `n` elements, as they come; with `up_to` fewer (but at least one)
  // once the queue is closed. OutOfRange if a closed queue cannot give as many.
  // REQUIRES: n > 0.
  void Dequeue(int64_t n, bool up_to, const Waiter& waiter, TakeDone done);
  // No more elements come. Done after the pending enqueues, or at once if those
  // are to be cancelled. Cancelled if closed before.
  void Close(bool cancel_pending_enqueues, const Waiter& waiter, Done done);

  bool IsClosed();
  int64_t Size();

 private:
  // One parked operation: adds `elements` from `next` on, or takes until there
  // are `wanted`, or closes.
  struct Attempt {
    enum class Kind { kEnqueue, kDequeue, kClose } kind;
    std::vector<QueueElement> elements;
    size_t next = 0;
    int64_t wanted = 0;
    bool up_to = false;
    Waiter waiter;
    TakeDone done;
    Cancellation::Token token = -1;
    bool finished = false;
    Status status;
  };
  using AttemptPtr = std::shared_ptr<Attempt>;
  using Attempts = std::list<AttemptPtr>;

  void Submit(AttemptPtr attempt);
  void Cancel(const AttemptPtr& attempt);
  // Tries the first attempts of both lists until nothing moves; finished ones
  // go to `finished`.
  void Flush(Attempts* finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Shows what it has come to.
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TryEnqueue(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TryDequeue(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(Attempt& attempt, Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls done; that of `own` on this thread.
  static void Report(const Attempts& finished, const Attempt* own);

  const Options options_;
  const std::shared_ptr<ObservedQueue> observed_;
  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::unique_ptr<QueueStore> store_ ABSL_GUARDED_BY(mu_);
  Attempts enqueues_ ABSL_GUARDED_BY(mu_);  // closes too: they wait for enqueues that came before
  Attempts dequeues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_QUEUE_H_
