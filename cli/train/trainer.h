// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_TRAINER_H_
#define MILLSTREAM_CLI_TRAIN_TRAINER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/train/models/model.h"
#include "cli/train/modes/mode.h"
#include "cli/train/task.h"
#include "millstream/data/batches.h"
#include "millstream/train/sessions/training_session.h"
#include "millstream/train/summaries/file_writer.h"

namespace millstream::cli {

// A model with what trains it.
struct TrainingGraph {
  Scope scope = Scope::Root();
  ModelGraph model;
  ModeGraph mode;
  Output step_before;          // the global step as it is
  Output step_after;           // the global step once this worker's update has been made
  bool own_variables = false;  // this worker initializes the variables that it uses
};

// The steps of one worker. Most of them fetch nothing but the global step and call no hooks: every so many steps,
// depending on how long they take, one is watched, which also fetches loss and score, calls hooks and reports. The
// chief saves, evaluates and writes event files. One thread.
class Trainer {
 public:
  Trainer(const TrainOptions& options, const TrainingGraph& graph, const ExampleData& data, bool chief,
          const EventLog& log, const std::atomic<bool>& stop);
  ~Trainer();

  // Trains in sessions of that kind until the last step, or until `stop`.
  Status Run(const SessionOptions& config, Batches& batches);

 private:
  class Callables;
  using Clock = std::chrono::steady_clock;

  StatusOr<std::unique_ptr<MonitoredSession>> MakeSession(const SessionOptions& config);
  Status FindFirstStep(MonitoredSession& session);
  Status Train(MonitoredSession& session, Batches& batches);
  Status PlainStep(MonitoredSession& session);
  Status WatchedStep(MonitoredSession& session);
  // The mode's own op, where its turn has come. `last`: no step follows.
  Status PeriodicStep(MonitoredSession& session, bool last);
  void Fill(Batches& batches);
  void Report(double loss, double score);
  void ReportProgress();
  Status Evaluate(MonitoredSession& session);
  void ReportEvaluation(const std::string& tag, double value);
  bool Finished() const { return global_step_ >= options_.train_steps || stop_; }

  const TrainOptions& options_;
  const TrainingGraph& graph_;
  const ExampleData& data_;
  const bool chief_;
  const EventLog& log_;
  const std::atomic<bool>& stop_;
  const std::shared_ptr<Callables> callables_;

  std::shared_ptr<FileWriter> events_, eval_events_;  // of the chief, if anything is written
  Batch batch_;
  std::vector<Tensor> fed_, fetched_;
  int64_t global_step_ = 0, local_step_ = 0;
  int64_t watch_every_ = 1;
  int64_t next_eval_ = 0;
  double smooth_loss_ = -1, smooth_score_ = -1;
  Clock::time_point last_watched_, last_reported_;
  int64_t last_watched_step_ = 0, last_reported_step_ = 0, last_written_step_ = -1;
  int64_t last_reported_global_ = -1;  // -1: not known yet
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_TRAINER_H_
