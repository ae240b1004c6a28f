// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_STEP_TIMER_H_
#define MILLSTREAM_TRAIN_SESSIONS_STEP_TIMER_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "millstream/base/status.h"

namespace millstream {

// How often a hook acts: every so many steps, every so many seconds, or never (neither is set).
struct HookInterval {
  std::optional<int64_t> steps;
  std::optional<double> secs;
  static HookInterval Steps(int64_t n) { return {n, std::nullopt}; }
  static HookInterval Secs(double s) { return {std::nullopt, s}; }
};

// Says at which steps a hook acts: at the first it is asked for, then as its interval says. TensorFlow's
// SecondOrStepTimer.
class StepTimer {
 public:
  explicit StepTimer(const HookInterval& interval) : interval_(interval) {}

  // InvalidArgument unless exactly one of steps and seconds is set, and positive.
  Status Check() const {
    if (interval_.steps.has_value() == interval_.secs.has_value()) {
      return errors::InvalidArgument("Exactly one of every so many steps and every so many seconds must be provided.");
    }
    const bool positive = interval_.steps.has_value() ? *interval_.steps > 0 : *interval_.secs >= 0;
    return positive ? OkStatus() : errors::InvalidArgument("The interval of a hook must be positive");
  }
  bool never() const { return !interval_.steps.has_value() && !interval_.secs.has_value(); }

  void Reset() { last_step_.reset(); }
  bool ShouldTrigger(int64_t step) const {
    if (never()) return false;
    if (!last_step_.has_value()) return true;
    if (*last_step_ == step) return false;
    if (interval_.secs.has_value()) return Elapsed() >= *interval_.secs;
    return step >= *last_step_ + *interval_.steps;
  }

  struct SinceLast {
    double secs;
    int64_t steps;
  };
  // It acts now. Nothing the first time.
  std::optional<SinceLast> Triggered(int64_t step) {
    std::optional<SinceLast> since;
    if (last_step_.has_value()) since = SinceLast{Elapsed(), step - *last_step_};
    last_step_ = step;
    last_time_ = std::chrono::steady_clock::now();
    return since;
  }
  std::optional<int64_t> last_step() const { return last_step_; }

 private:
  double Elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_time_).count();
  }
  HookInterval interval_;
  std::optional<int64_t> last_step_;
  std::chrono::steady_clock::time_point last_time_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_STEP_TIMER_H_
