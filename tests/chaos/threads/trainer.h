// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_CHAOS_THREADS_TRAINER_H_
#define MILLSTREAM_TESTS_CHAOS_THREADS_TRAINER_H_

#include <atomic>
#include <optional>
#include <thread>

#include "millstream/base/mutex.h"
#include "millstream/distributed/server.h"
#include "millstream/train/sessions/monitored_session.h"
#include "tests/chaos/threads/checkpoints.h"
#include "tests/chaos/threads/program.h"
#include "tests/chaos/threads/record.h"

namespace millstream::chaos {

// The program of one worker, on a thread of its own: a MonitoredTrainingSession that runs a Program.
class Trainer {
 public:
  struct Options {
    Mode mode = Mode::kAsync;
    int worker = 0, num_workers = 1, num_ps = 1;
    Checkpoints* checkpoints = nullptr;  // null: none are saved
  };
  Trainer(Server* server, const Options& options, Record* record);
  // As if its process were killed: whatever it does is cut short. The server is still there.
  ~Trainer();
  // Why the program ended by itself; nothing while it runs.
  std::optional<Status> ended() const;

 private:
  void Main();
  // Ends this process if the program does not end.
  void AwaitEnd();
  Status Train();
  StatusOr<std::unique_ptr<MonitoredSession>> MakeSession(const Program& program);
  Status Step(const Program& program, MonitoredSession& session);

  Server* const server_;
  const Options options_;
  Record* const record_;
  std::atomic<bool> killed_{false};
  mutable Mutex mu_;
  CondVar has_ended_;
  std::optional<Status> ended_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace millstream::chaos

#endif  // MILLSTREAM_TESTS_CHAOS_THREADS_TRAINER_H_
