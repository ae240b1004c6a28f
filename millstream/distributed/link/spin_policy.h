// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_SPIN_POLICY_H_
#define MILLSTREAM_DISTRIBUTED_LINK_SPIN_POLICY_H_

#include <cstdint>

namespace millstream {

// Decides how long an I/O thread that has nothing to do looks around before it blocks: a blocked wake-up costs 15-25
// us, a look almost nothing, but only if the core is free. Learns from what came of it: spins while work tends to come
// within `max_ns`, not otherwise, and not while yielding shows that others want the core. Times are of the steady
// clock.
class SpinPolicy {
 public:
  explicit SpinPolicy(int64_t max_ns) : max_ns_(max_ns), budget_ns_(max_ns) {}

  void Worked(int64_t now) { last_work_ = now; }
  // True: look again, and then call this again; false: block.
  bool ShouldSpin(int64_t now) const { return now - last_work_ < budget_ns_ && now >= contended_until_; }
  int64_t idle_ns(int64_t now) const { return now - last_work_; }
  // For how long a yield at `now` kept this thread from running.
  void Yielded(int64_t now, int64_t took_ns);
  // A block ended after `slept_ns`, with or without work.
  void Woke(int64_t now, int64_t slept_ns, bool work);

  int64_t budget_ns() const { return budget_ns_; }

 private:
  const int64_t max_ns_;
  int64_t budget_ns_;
  int64_t last_work_ = 0, contended_until_ = 0;
};

inline void SpinPolicy::Yielded(int64_t now, int64_t took_ns) {
  constexpr int64_t kOthersRan = 15'000, kPause = 1'000'000;
  if (took_ns > kOthersRan) contended_until_ = now + kPause;
}

inline void SpinPolicy::Woke(int64_t now, int64_t slept_ns, bool work) {
  last_work_ = now;
  if (work && slept_ns < max_ns_) {
    budget_ns_ = max_ns_;  // spinning would have caught it
  } else if (slept_ns > 4 * max_ns_) {
    budget_ns_ = budget_ns_ > max_ns_ / 16 ? budget_ns_ / 2 : 0;
  }
}

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_SPIN_POLICY_H_
