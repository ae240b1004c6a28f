// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SYNC_REPLICAS_SYNC_END_RULE_H_
#define MILLSTREAM_TRAIN_SYNC_REPLICAS_SYNC_END_RULE_H_

#include <chrono>
#include <cstdint>
#include <optional>

namespace millstream {

// Tells a worker of a synchronous training when to end, from how many marks of chiefs that have ended it finds at each
// look: when there is one more; or when there was one before this worker came, and no new chief, which would take it
// away, comes within the grace. One thread.
class SyncEndRule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // No grace: a new chief may take as long as it likes.
  explicit SyncEndRule(std::optional<std::chrono::seconds> grace) : grace_(grace) {}
  bool MustEnd(int32_t marks, Time now) {
    if (marks_ < 0) {
      marks_ = marks;
      since_ = now;
      return false;
    }
    if (marks > marks_) return true;
    marks_ = marks;
    return marks > 0 && grace_.has_value() && now - since_ >= *grace_;
  }
  // A chief had ended before, and no other one has begun.
  bool waits() const { return marks_ > 0; }

 private:
  const std::optional<std::chrono::seconds> grace_;
  int32_t marks_ = -1;  // -1: not looked yet
  Time since_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SYNC_REPLICAS_SYNC_END_RULE_H_
