// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/observer/trace_requests.h"

#include <algorithm>

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

// How long a better step may take to come once there is one.
constexpr auto kSettle = std::chrono::seconds(3);
constexpr auto kLookAgain = std::chrono::milliseconds(100);

}  // namespace

struct TraceRequests::Request {
  Mutex mu;
  CondVar changed;
  proto::StepStats stats ABSL_GUARDED_BY(mu);
  int64_t nodes ABSL_GUARDED_BY(mu) = 0;  // of the best step so far; 0: none
  Clock::time_point since ABSL_GUARDED_BY(mu);
  bool answered ABSL_GUARDED_BY(mu) = false;
};

StatusOr<proto::StepStats> TraceRequests::Next(std::chrono::milliseconds timeout, Cancellation* cancellation) {
  const Clock::time_point deadline = Clock::now() + timeout;
  auto request = std::make_shared<Request>();
  {
    MutexLock lock(mu_);
    request_ = request;
    wanted_.store(true, std::memory_order_release);
  }
  const auto cancelled = [&] { return cancellation != nullptr && cancellation->IsCancelled(); };
  Status status;
  {
    MutexLock lock(request->mu);
    while (!request->answered && Clock::now() < deadline && !cancelled()) {
      if (request->nodes > 0 && Clock::now() - request->since >= kSettle) break;
      request->changed.WaitUntil(request->mu, std::min(deadline, Clock::now() + kLookAgain));
    }
    if (cancelled()) {
      status = cancellation->status();
    } else if (!request->answered && request->nodes == 0) {
      status = errors::DeadlineExceeded("No step was run at this master within ",
                                        static_cast<double>(timeout.count()) / 1000.0, " s");
    }
    request->answered = true;  // steps that still run come too late
  }
  Forget(request);
  RETURN_IF_ERROR(status);
  MutexLock lock(request->mu);
  return std::move(request->stats);
}

void TraceRequests::Forget(const std::shared_ptr<Request>& request) {
  MutexLock lock(mu_);
  if (request_ != request) return;
  request_ = nullptr;
  wanted_.store(false, std::memory_order_release);
}

std::shared_ptr<TraceRequests::Trace> TraceRequests::Begin(const std::function<SignatureWork()>& work) {
  auto trace = std::make_shared<Trace>();
  {
    MutexLock lock(mu_);
    trace->request = request_;
  }
  if (trace->request == nullptr) return nullptr;
  const SignatureWork own = work();
  trace->nodes = std::max<int64_t>(own.nodes, 1);
  // A training may have more than one signature, such as one with summaries.
  trace->wanted = own.total() > 0 && own.total() >= most_work_() / 2;
  if (trace->wanted) {
    Forget(trace->request);
    return trace;
  }
  MutexLock lock(trace->request->mu);
  return trace->request->nodes >= trace->nodes ? nullptr : trace;
}

void TraceRequests::End(Trace& trace) {
  Request& request = *trace.request;
  MutexLock lock(request.mu);
  if (request.answered || (!trace.wanted && request.nodes >= trace.nodes)) return;
  request.stats = std::move(trace.stats);
  request.nodes = trace.nodes;
  request.since = Clock::now();
  request.answered = trace.wanted;
  request.changed.NotifyAll();
}

}  // namespace millstream
