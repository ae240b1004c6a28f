// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_QUEUES_STALENESS_CLOCK_H_
#define MILLSTREAM_OPS_QUEUES_STALENESS_CLOCK_H_

#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "millstream/base/timer_queue.h"
#include "millstream/framework/monitoring/census.h"
#include "millstream/ops/resources/parked_call.h"

namespace millstream {

// Bounded staleness (stale synchronous parallel): counts the steps of each worker, and holds back a worker that has
// made `bound` steps more than the slowest one until that one has caught up. A worker that begins its step number c
// therefore works with variables that contain the first c - bound steps of every worker.
//
// All workers count from the start, so the first steps wait for workers that start late. One that leaves is no longer
// waited for; one that comes back goes on at the clock of the slowest. When nobody is left, the next one that joins
// begins a new training, with all workers at 0. Thread-safe; calls never block, they are parked.
class StalenessClock final : public Resource {
 public:
  struct Options {
    std::string name;
    std::string device;  // full name of the device it lives on
    Ref<Census> census;  // where it is listed; null: nowhere
    int64_t num_workers = 1;
    int64_t bound = 0;
    std::chrono::milliseconds warn_after = std::chrono::seconds(30);  // how long a wait may last without a word
  };
  static constexpr int64_t kMaxWorkers = 1 << 16, kMaxBound = 1 << 30;

  explicit StalenessClock(Options options);

  const Options& options() const { return options_; }
  std::string DebugString() const override { return absl::StrCat("StalenessClock ", options_.name); }

  // Each ends, with by how many steps the worker is ahead of the slowest one as output 0, when that is within the
  // bound. InvalidArgument if there is no such worker. Before the first step of a session:
  void Join(int64_t worker, KernelContext& ctx, AsyncKernel::Done done);
  // After each step, which counts even if the call is cancelled while it waits; so a step that a session repeats after
  // an outage counts twice.
  void Advance(int64_t worker, KernelContext& ctx, AsyncKernel::Done done);
  // This worker makes no more steps.
  Status Leave(int64_t worker);

 private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    int64_t clock = 0;
    bool active = true;
  };
  struct Waiter {
    std::shared_ptr<ParkedCall> call;
    int64_t worker = 0;
    Clock::time_point since;
  };
  using Waiters = std::list<Waiter>;

  Status Check(int64_t worker) const;
  void Wait(int64_t worker, bool count, KernelContext& ctx, AsyncKernel::Done done);
  void Withdraw(const std::shared_ptr<ParkedCall>& call);
  void Admit(int64_t worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FindSlowest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Moves those that may go on to `ready`, with their outputs set.
  void Release(Waiters* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Finish(const Waiters& ready, const ParkedCall* own);
  void SetTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string WhoIsMissing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Warn();

  const Options options_;
  const std::shared_ptr<ObservedClock> observed_;
  mutable Mutex mu_;
  std::vector<Member> members_ ABSL_GUARDED_BY(mu_);
  int64_t slowest_ ABSL_GUARDED_BY(mu_) = 0;  // the lowest clock of an active worker
  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  bool timer_set_ ABSL_GUARDED_BY(mu_) = false;
  TimerQueue timers_;  // last: its thread uses what is above
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_QUEUES_STALENESS_CLOCK_H_
