// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRACEFUL_STOP_H_
#define MILLSTREAM_DISTRIBUTED_GRACEFUL_STOP_H_

#include <functional>
#include <string>
#include <thread>

#include "millstream/base/notification.h"
#include "millstream/distributed/master/master.h"

namespace millstream {

// How a task stops when it is told to, by a signal or by `millstream stop`: its programs get the time to save, but
// nothing may keep it for more than some seconds. Thread-safe; the methods return at once.
class GracefulStop {
 public:
  // `stop` is cancelled when the task is told to stop: waits for other tasks end with it. All are borrowed.
  GracefulStop(Worker* worker, Peers* peers, Master* master, Cancellation* stop);
  ~GracefulStop() { End(); }

  // Ends waits. Steps that run now are cancelled unless they end within a second; after that, links to tasks that do
  // not answer are closed, so that a save at such a task fails rather than hangs.
  void Begin(const std::string& reason);
  // Calls `idle` once no session uses this task any more, after 8 s at the latest.
  void Drain(std::function<void()> idle);
  // Ends both at once and waits for their threads. Begin() and Drain() do nothing afterwards.
  void End();

 private:
  void EndSteps();
  void AwaitIdle(const std::function<void()>& idle);

  Worker* const worker_;
  Peers* const peers_;
  Master* const master_;
  Cancellation* const stop_;
  Notification quit_;
  Mutex mu_;
  std::thread steps_ ABSL_GUARDED_BY(mu_), drain_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRACEFUL_STOP_H_
