// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_OBSERVER_TRACE_REQUESTS_H_
#define MILLSTREAM_DISTRIBUTED_OBSERVER_TRACE_REQUESTS_H_

#include <atomic>
#include <chrono>
#include <memory>

#include "millstream/base/mutex.h"
#include "millstream/base/notification.h"
#include "millstream/base/status.h"
#include "millstream/proto/step_stats.pb.h"

namespace millstream {

// Somebody outside wants to see a step, whoever runs it: the next one that begins is traced for them. Costs a step one
// load. Thread-safe.
class TraceRequests {
 public:
  struct Request {
    proto::StepStats stats;
    Notification traced;
  };

  // The trace of the next step. DeadlineExceeded if none begins and ends in that time.
  StatusOr<proto::StepStats> Next(std::chrono::milliseconds timeout) {
    const std::shared_ptr<Request> request = Ask();
    if (request->traced.WaitUntil(std::chrono::steady_clock::now() + timeout)) return std::move(request->stats);
    Forget(request);
    return errors::DeadlineExceeded("No step was run at this master within ",
                                    static_cast<double>(timeout.count()) / 1000.0, " s");
  }

  // The same for somebody who waits otherwise: its notification comes when the stats are there. Whoever loses patience
  // calls Forget() and looks at the request no more. The newest request takes the place of an older one that no step
  // has begun for.
  std::shared_ptr<Request> Ask() {
    auto request = std::make_shared<Request>();
    MutexLock lock(mu_);
    request_ = request;
    wanted_.store(true, std::memory_order_release);
    return request;
  }
  void Forget(const std::shared_ptr<Request>& request) {
    MutexLock lock(mu_);
    if (request_ == request) Withdraw();
  }

  // For a step that begins: the request it serves, null if nobody asked.
  std::shared_ptr<Request> Take() {
    if (!wanted_.load(std::memory_order_relaxed)) [[likely]]
      return nullptr;
    MutexLock lock(mu_);
    return Withdraw();
  }

 private:
  std::shared_ptr<Request> Withdraw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    wanted_.store(false, std::memory_order_release);
    return std::move(request_);
  }

  std::atomic<bool> wanted_{false};
  Mutex mu_;
  std::shared_ptr<Request> request_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_OBSERVER_TRACE_REQUESTS_H_
