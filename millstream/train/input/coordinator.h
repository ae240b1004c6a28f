// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_INPUT_COORDINATOR_H_
#define MILLSTREAM_TRAIN_INPUT_COORDINATOR_H_

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream {

// Threads that end together, and the first error among them: tf.train.Coordinator. It owns the threads: what they use
// must outlive it. A thread looks at ShouldStop() often. Thread-safe, except that one thread at a time calls Join().
class Coordinator {
 public:
  enum class ThreadKind {
    kWorker,
    // Waits in steps for what others may never send; only closing the session ends it. Join() waits a second for it and
    // does not miss it.
    kQueueRunner,
  };

  // An error with one of these codes stops the threads as well as another, but is no failure.
  explicit Coordinator(std::vector<absl::StatusCode> clean_stop_codes = {absl::StatusCode::kOutOfRange});
  // Stops and waits for every thread, however long that takes; says every 30 seconds for which.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Asks all threads to stop. The first error that comes with such a request is what Join() returns; later ones, which
  // tend to follow from it, are dropped.
  void RequestStop(Status reason = OkStatus());
  bool ShouldStop() const;
  void WaitForStop();
  // False if that many seconds passed without a stop.
  bool WaitForStop(double secs);
  // Makes it usable again after Join().
  void ClearStop();
  // What Join() would return so far: OK, or the first error.
  Status RequestedError() const;

  // Runs `body` in a new thread. An error that it returns stops all.
  void StartThread(std::string name, std::function<Status()> body, ThreadKind kind = ThreadKind::kWorker);
  // Calls `body` now and then every `interval_secs` until the stop, in a new thread: TensorFlow's LooperThread.
  void StartLoop(std::string name, double interval_secs, std::function<Status()> body);

  struct JoinOptions {
    double stop_grace_period_secs = 120;
    bool ignore_live_threads = false;
  };
  // Waits until all threads have ended or a stop is requested; then, for the grace period at most, until they have
  // followed. Returns the first error, else FailedPrecondition that names threads still running unless they are to be
  // ignored.
  Status Join(const JoinOptions& options);
  Status Join() { return Join(JoinOptions()); }
  bool joined() const;

 private:
  struct Thread {
    std::string name;
    ThreadKind kind = ThreadKind::kWorker;
    bool ended = false;
    std::thread thread;
  };
  using Clock = std::chrono::steady_clock;
  bool IsClean(const Status& status) const;
  bool AnyAlive() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Until every thread of that kind has ended or the time has come.
  void AwaitKind(ThreadKind kind, Clock::time_point deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string NamesOfLive(bool workers_only) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveEnded();

  const std::vector<absl::StatusCode> clean_stop_codes_;
  mutable Mutex mu_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool joined_ ABSL_GUARDED_BY(mu_) = false;
  Status error_ ABSL_GUARDED_BY(mu_);
  std::list<Thread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_INPUT_COORDINATOR_H_
