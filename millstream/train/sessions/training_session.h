// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_TRAINING_SESSION_H_
#define MILLSTREAM_TRAIN_SESSIONS_TRAINING_SESSION_H_

#include <memory>
#include <optional>
#include <string>

#include "millstream/train/sessions/monitored_session.h"
#include "millstream/train/sessions/saver_hooks.h"

namespace millstream {

// What tf.train.MonitoredTrainingSession takes, with its defaults. Of a pair of steps and seconds at most one is set;
// neither: the default; 0 or less: never.
struct TrainingSessionOptions {
  SessionOptions config;  // its target is TensorFlow's `master`
  bool is_chief = true;
  std::string checkpoint_dir;  // "": no checkpoints
  std::string summary_dir;     // "": checkpoint_dir
  std::shared_ptr<Scaffold> scaffold;
  SessionRunHooks hooks;
  SessionRunHooks chief_only_hooks;
  std::optional<double> save_checkpoint_secs;  // 600
  std::optional<int64_t> save_checkpoint_steps;
  std::optional<double> save_summaries_secs;
  std::optional<int64_t> save_summaries_steps;  // 100
  int64_t log_step_count_steps = 100;
  double stop_grace_period_secs = 120;
  double max_wait_secs = 7200;
  bool save_graph_def = true;
  // Of the chief: told of each checkpoint that is saved (by the thread that saves it), and of each that is restored or,
  // because the variables are live, is not.
  CheckpointSaverHook::SavedListener on_saved;
  SessionManager::RestoreListener on_restore;
};

// A MonitoredSession for training. The chief initializes or restores the model and gets hooks that save checkpoints,
// summaries and steps per second; other workers wait for it. A worker that comes when the job is done gets a session
// that has nothing to do: a ps tells it so (monitored_session.h), or no ps answers for five seconds and the latest
// checkpoint is of the last step that a StopAtStepHook allows.
StatusOr<std::unique_ptr<MonitoredSession>> MonitoredTrainingSession(const Scope& scope,
                                                                     TrainingSessionOptions options);

// A MonitoredSession that does not recover, and whose plain session can be had.
class SingularMonitoredSession final : public MonitoredSession {
 public:
  static StatusOr<std::unique_ptr<SingularMonitoredSession>> Make(const Scope& scope, SessionRunHooks hooks = {},
                                                                  std::shared_ptr<Scaffold> scaffold = nullptr,
                                                                  const SessionOptions& config = {},
                                                                  const std::string& checkpoint_dir = "");
  // REQUIRES: it is not closed, and ShouldStop() was not true from the start.
  Session& raw_session() { return *live()->session; }

 private:
  using MonitoredSession::MonitoredSession;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_TRAINING_SESSION_H_
