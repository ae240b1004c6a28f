// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SIGNAL_FFT_PLANS_H_
#define MILLSTREAM_OPS_SIGNAL_FFT_PLANS_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "millstream/math/fft/fft.h"

namespace millstream {

// The plans of the lengths that a kernel met last. Thread-safe.
template <typename T>
class FftPlans {
 public:
  using Plan = std::shared_ptr<const math::FftPlan<T>>;

  Plan Get(int64_t n, bool real) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      const absl::MutexLock lock(&mu_);
      for (const Entry& entry : entries_) {
        if (entry.plan->size() == n && entry.real >= real) return entry.plan;
      }
    }
    auto plan = std::make_shared<const math::FftPlan<T>>(n, real);
    if (n > kLongestKept) return plan;
    const absl::MutexLock lock(&mu_);
    if (entries_.size() < kMostKept) entries_.emplace_back();
    std::rotate(entries_.begin(), entries_.end() - 1, entries_.end());
    entries_.front() = {plan, real};
    return plan;
  }

 private:
  // Tables of a plan take about as much memory as a few lines.
  static constexpr int64_t kLongestKept = int64_t{1} << 20;
  static constexpr size_t kMostKept = 8;
  struct Entry {
    Plan plan;
    bool real = false;
  };
  absl::Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);  // the newest first
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SIGNAL_FFT_PLANS_H_
