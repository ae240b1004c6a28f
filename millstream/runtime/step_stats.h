// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_STEP_STATS_H_
#define MILLSTREAM_RUNTIME_STEP_STATS_H_

#include <chrono>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/runtime/plan.h"

namespace millstream {

namespace proto {
class StepStats;
}

// Gathers what a traced step did: one record for each kernel run. Thread-safe.
class StepStatsCollector {
 public:
  struct Record {
    const Node* node;
    absl::string_view device;  // its name, as long as the device or the node lives
    int64_t start_ns;          // since the epoch
    int64_t end_ns;
    uint32_t thread;
  };

  void Add(const Record& record);
  // Constants are there before the step and take no time; TensorFlow runs them.
  void AddConstants(const Plan& plan);
  // Grouped by device, in order of time.
  void Export(proto::StepStats* stats) const;

 private:
  mutable Mutex mu_;
  std::vector<Record> records_ ABSL_GUARDED_BY(mu_);
};

// Times one kernel; does nothing when the step is not traced.
class ScopedNodeTrace {
 public:
  ScopedNodeTrace(StepStatsCollector* stats, const PlanNode& node) : stats_(stats), node_(node) {
    if (stats_ != nullptr) [[unlikely]]
      start_ns_ = NowNanos();
  }
  ~ScopedNodeTrace() {
    if (stats_ != nullptr) [[unlikely]]
      Finish();
  }
  static int64_t NowNanos();

 private:
  void Finish();
  StepStatsCollector* const stats_;
  const PlanNode& node_;
  int64_t start_ns_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_STEP_STATS_H_
