// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_USUAL_TIME_H_
#define MILLSTREAM_RUNTIME_USUAL_TIME_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace millstream {

// How long something usually keeps its thread, learned from one run in eight. A run during which the system gave the
// core to somebody else counts with the time of the processor that it used: who is woken by what a short run sends
// often takes its core at once, and that does not make the run long. One that waits counts in full. Thread-safe.
class UsualTime {
 public:
  // True once it is known to be less than `nanos`.
  bool IsBelow(int64_t nanos) const { return usual_.load(std::memory_order_relaxed) < nanos; }
  void Took(int64_t nanos) {
    const int64_t usual = usual_.load(std::memory_order_relaxed);
    usual_.store(usual == kUnknown ? nanos : usual + (nanos - usual) / 8, std::memory_order_relaxed);
  }

 private:
  friend class RunWatch;
  static constexpr int64_t kUnknown = INT64_MAX;
  std::atomic<int64_t> usual_{kUnknown};
};

// Measures a run from its construction to Stop(), on one thread, if it is one of those that are measured.
class RunWatch {
 public:
  explicit RunWatch(const UsualTime& usual);
  // `end`: when the run ended, if that was before now.
  void Stop(UsualTime* usual, std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max());

 private:
  bool measured_;
  std::chrono::steady_clock::time_point start_;
  int64_t taken_away_ = 0, cpu_nanos_ = 0;  // of this thread, at the start
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_USUAL_TIME_H_
