// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_TIMER_QUEUE_H_
#define MILLSTREAM_BASE_TIMER_QUEUE_H_

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "millstream/base/mutex.h"

namespace millstream {

// Calls functions at given times, on one thread of its own that is started with the first. Functions must be short.
// Thread-safe.
class TimerQueue {
 public:
  using Clock = std::chrono::steady_clock;
  using Id = int64_t;

  ~TimerQueue() { Stop(); }
  // Calls that have not begun are dropped, those that are added later too; none is being made when this returns. Not
  // from within a call.
  void Stop();

  Id Add(Clock::time_point when, std::function<void()> call);
  // True if the call was taken back. Otherwise it has been made or is being made; with `wait` it is over when this
  // returns. Must not be called with `wait` from within a call.
  bool Cancel(Id id, bool wait = true);

 private:
  void Main();

  Mutex mu_;
  CondVar changed_;
  std::map<std::pair<Clock::time_point, Id>, std::function<void()>> calls_ ABSL_GUARDED_BY(mu_);
  std::map<Id, Clock::time_point> when_ ABSL_GUARDED_BY(mu_);
  Id next_ ABSL_GUARDED_BY(mu_) = 1;
  Id running_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_TIMER_QUEUE_H_
