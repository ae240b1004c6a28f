// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_TICKER_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_TICKER_H_

#include <chrono>
#include <memory>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/timer_queue.h"

namespace millstream {

// What wants to be called about four times a second, to see whether a time has passed; must not block.
class Ticked {
 public:
  virtual ~Ticked() = default;
  virtual void Tick() = 0;
};

// Calls them while they live, on the thread of `timers`. Thread-safe.
class Ticker {
 public:
  explicit Ticker(TimerQueue* timers) : timers_(timers) {}
  ~Ticker() { Stop(); }

  void Add(std::weak_ptr<Ticked> ticked);
  // No Tick() is running or begins afterwards.
  void Stop();

 private:
  static constexpr auto kInterval = std::chrono::milliseconds(250);
  void Run();
  void Schedule() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  TimerQueue* const timers_;
  Mutex mu_;
  std::vector<std::weak_ptr<Ticked>> all_ ABSL_GUARDED_BY(mu_);
  TimerQueue::Id timer_ ABSL_GUARDED_BY(mu_) = 0;  // 0: none
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_TICKER_H_
