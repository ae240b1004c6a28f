// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_TASK_H_
#define MILLSTREAM_CLI_TRAIN_TASK_H_

#include <atomic>

#include "cli/train/events.h"
#include "cli/train/options.h"
#include "millstream/distributed/server.h"

namespace millstream::cli {

// The note of a worker that ends before its last step because it was told to begins with this.
inline constexpr char kToldToStop[] = "told to stop: ";

// Runs one task of a training job, a ps or a worker, to its end. Returns the exit code.
int RunTrainingTask(TrainOptions options);

// What a task says goes to standard output, as JSON or as text. Thread-safe.
class EventLog {
 public:
  EventLog(std::string task, bool json) : task_(std::move(task)), json_(json) {}
  void Say(TrainEvent event) const;
  void Note(std::string text) const;
  // Why the task fails. Returns the exit code.
  int Fail(const Status& status) const;

 private:
  const std::string task_;
  const bool json_;
};

// The work of a worker at its server, until the global step is reached or `stop` is set.
Status RunTrainingWorker(const TrainOptions& options, Server& server, const EventLog& log,
                         const std::atomic<bool>& stop);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_TASK_H_
