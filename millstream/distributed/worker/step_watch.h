// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_STEP_WATCH_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_STEP_WATCH_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/notification.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/framework/peer_link.h"

namespace millstream {

// A step here waits for values of another task.
struct AwaitedTask {
  uint64_t step = 0;
  uint64_t progress = 0;  // changes with every value that comes for the step
  std::string task;
  uint64_t incarnation = 0;
};

// Looks from time to time for steps that have waited long for another task, and asks that task what became of the
// values. They may have been lost with a link before the step began here: the part that sent them has ended long ago,
// and nobody else would ever notice. Steps pay nothing for it. Thread-safe.
class StepWatch {
 public:
  using Clock = std::chrono::steady_clock;
  struct Hooks {
    std::string task;  // of this worker
    std::function<std::vector<AwaitedTask>(Clock::time_point begun_before)> awaited;
    std::function<std::vector<std::shared_ptr<PeerLink>>(uint64_t incarnation)> links;  // that are open
    std::function<void(uint64_t step, const Status& why)> fail;
    std::function<void()> tick;  // whatever else is to be done from time to time
  };
  // `ask_after`: as in WorkerOptions.
  StepWatch(Hooks hooks, std::chrono::milliseconds ask_after);
  ~StepWatch();

  // The task of that incarnation has answered about a step.
  void Answered(uint64_t step, uint64_t incarnation);

 private:
  struct Wait {
    Clock::time_point since;
    Clock::time_point next_question;
    Clock::time_point first_question = Clock::time_point::max();
    Clock::time_point last_sign;  // of life of the other task
    uint64_t progress = 0;
  };
  using Key = std::pair<uint64_t, uint64_t>;  // step, incarnation

  void Main();
  void Look(Clock::time_point now);
  void LookAt(const AwaitedTask& awaited, Wait* wait, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tell(const AwaitedTask& awaited, const Wait& wait, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Hooks hooks_;
  const std::chrono::milliseconds ask_after_;
  Mutex mu_;
  std::map<Key, Wait> waits_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Clock::time_point> told_ ABSL_GUARDED_BY(mu_);  // when a task was last said to be silent
  std::vector<std::pair<uint64_t, Status>> failed_ ABSL_GUARDED_BY(mu_);
  Notification quit_;
  std::thread thread_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_STEP_WATCH_H_
