// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_OBSERVER_TRACE_REQUESTS_H_
#define MILLSTREAM_DISTRIBUTED_OBSERVER_TRACE_REQUESTS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "millstream/base/cancellation.h"
#include "millstream/base/mutex.h"
#include "millstream/base/notification.h"
#include "millstream/base/status.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {

// How much of a master's work a signature is: a training step has many nodes and is run over and over; initialization
// and saves are run once in a while, and the read of a global step has few nodes.
struct SignatureWork {
  int64_t nodes = 0;
  int64_t runs = 0;
  int64_t total() const { return runs < 2 ? 0 : nodes * runs; }  // what was run once tells nothing yet
};

// Somebody outside wants to see a step of what the task's master mostly does: the next step of a signature that makes
// up most of the work is traced for them. Where there is none yet, the largest step that comes within some seconds
// has to do. Costs a step one load while nobody asks. Thread-safe.
class TraceRequests {
 public:
  // `most_work`: SignatureWork::total() of the signature that has most of it.
  explicit TraceRequests(std::function<int64_t()> most_work) : most_work_(std::move(most_work)) {}

  // The trace of such a step. DeadlineExceeded if no step begins and ends in that time, Cancelled with `cancellation`
  // (optional). The newest request takes the place of an older one that no step has begun for.
  StatusOr<proto::StepStats> Next(std::chrono::milliseconds timeout, Cancellation* cancellation = nullptr);

  struct Request;
  // The trace of one step in the making.
  struct Trace {
    std::shared_ptr<Request> request;
    int64_t nodes = 0;
    bool wanted = false;  // it is of the signature that was asked for
    proto::StepStats stats;
  };
  // For a step that begins: what to trace it for; null if it need not be traced.
  std::shared_ptr<Trace> Begin(const std::function<SignatureWork()>& work);
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // The step has ended.
  static void End(Trace& trace);

 private:
  void Forget(const std::shared_ptr<Request>& request);

  const std::function<int64_t()> most_work_;
  std::atomic<bool> wanted_{false};
  Mutex mu_;
  std::shared_ptr<Request> request_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_OBSERVER_TRACE_REQUESTS_H_
