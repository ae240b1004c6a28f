// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_TASK_STATUS_H_
#define MILLSTREAM_STATUS_TASK_STATUS_H_

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "millstream/distributed/master/master.h"
#include "millstream/framework/monitoring/evaluation_results.h"
#include "millstream/status/history.h"
#include "millstream/status/scalar_curves.h"
#include "millstream/status/task_reports.h"

namespace millstream {

// How a task is doing, as one JSON object (docs/status.md has its fields). Looks at the task twice a second, on the
// timer thread of its master, and remembers what it saw: rates and curves. Asking costs the task nothing that a step
// would notice. Thread-safe.
class TaskStatus {
 public:
  struct Parts {
    Worker* worker = nullptr;
    Master* master = nullptr;
    TaskReports* reports = nullptr;
    std::string address;  // "localhost:2222"
    std::function<bool()> job_done;
  };
  explicit TaskStatus(Parts parts);
  ~TaskStatus();

  const std::string& task() const { return parts_.worker->task(); }
  // With what was remembered after `since` (seconds since the epoch; 0: everything).
  std::string Describe(double since) const;
  // The largest graph among the sessions of the task's master; NotFound if there is none.
  StatusOr<std::string> GraphJson() const;
  // What other tasks ask (RPC TaskService/Status): "since=12.5", or "graph".
  StatusOr<std::string> Answer(const std::string& question) const;

  // A curve of its own for each run and tag.
  void AddEvaluation(const EvaluationResult& result);

  // Looks at the task now. For tests; otherwise time does it.
  void Sample();

  static constexpr std::chrono::milliseconds kPeriod{500};

 private:
  // Sums since the start, but for memory and the global step (-1: unknown).
  struct Totals {
    double time = 0;
    uint64_t steps = 0, parts = 0, own = 0, own_nanos = 0, bytes_sent = 0, bytes_received = 0;
    int64_t resident = 0, global_step = -1;
  };
  // Kept 600 times for as long as the task lives, so without memory of its own.
  static_assert(std::is_trivially_copyable_v<Totals>);
  struct Point : Totals {
    std::vector<LinkTable::Row> links;
  };
  struct Rates;

  Point Look() const;
  void AppendPast(double since, nlohmann::ordered_json* json) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Rates RatesOf() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int64_t NoteScalars(double time, int64_t global_step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Arm();

  const Parts parts_;
  const double started_;
  Mutex timer_mu_;
  TimerQueue::Id timer_ ABSL_GUARDED_BY(timer_mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(timer_mu_) = false;

  mutable Mutex mu_;
  std::deque<Point> recent_ ABSL_GUARDED_BY(mu_);  // of the last seconds: rates
  History<Totals> history_ ABSL_GUARDED_BY(mu_){600};
  ScalarCurves curves_ ABSL_GUARDED_BY(mu_);
  int64_t fetched_step_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_TASK_STATUS_H_
