// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_OBSERVER_COUNTERS_H_
#define MILLSTREAM_DISTRIBUTED_OBSERVER_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace millstream {

// What a task counts while it works. Each is one relaxed addition on the way of a step; readers see values that are
// each true for themselves.
class RelaxedCounter {
 public:
  void Add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Steps of the sessions at a task's master.
struct StepCounters {
  RelaxedCounter begun, ended, failed;  // ended: failed ones too
};

// Parts of steps that a task ran, for its own master or for others.
struct PartCounters {
  RelaxedCounter begun, ended, failed;
  // From when a step was first heard of until its part ended, of all parts of the task's own master.
  RelaxedCounter own, own_nanos;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_OBSERVER_COUNTERS_H_
