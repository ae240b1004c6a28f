// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_LIVENESS_H_
#define MILLSTREAM_DISTRIBUTED_LINK_LIVENESS_H_

#include <algorithm>
#include <cstdint>

namespace millstream {

// Whether the other end of a link is alive, from when it was heard and how far it has read. Times are of the steady
// clock, in nanoseconds. Not thread-safe.
class Liveness {
 public:
  enum class Verdict { kFine, kPing, kDead };

  Liveness(int64_t interval_ns, int64_t timeout_ns, int64_t now)
      : interval_(interval_ns),
        timeout_(timeout_ns),
        period_(std::clamp<int64_t>(std::min(interval_ns, timeout_ns) / 4, 1'000'000, 5'000'000'000)),
        last_sign_(now),
        last_check_(now) {}

  int64_t next_check() const { return last_check_ + period_; }
  int64_t last_check() const { return last_check_; }
  // The last sign of life, as far as checks have seen.
  int64_t last_sign() const { return last_sign_; }

  // `heard`: when something came; `progress` changes when the peer takes what it is sent. kPing: send one.
  Verdict Check(int64_t now, int64_t heard, uint64_t progress) {
    // If this process itself stood still, the silence proves nothing: the peer gets its time again.
    if (now - last_check_ > 2 * period_ + 1'000'000'000 && pinged_) ping_at_ = now;
    last_check_ = now;
    last_sign_ = std::max(last_sign_, heard);
    if (progress != progress_) last_sign_ = now;
    progress_ = progress;
    if (pinged_ && heard > ping_at_) pinged_ = false;
    if (!pinged_) {
      if (now - heard < interval_) return Verdict::kFine;
      pinged_ = true;
      ping_at_ = now;
      return Verdict::kPing;
    }
    return now - std::max(ping_at_, last_sign_) < timeout_ ? Verdict::kFine : Verdict::kDead;
  }

 private:
  const int64_t interval_, timeout_, period_;
  int64_t last_sign_, last_check_, ping_at_ = 0;
  uint64_t progress_ = 0;
  bool pinged_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_LIVENESS_H_
