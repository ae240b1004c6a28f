// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_SAVER_HOOKS_H_
#define MILLSTREAM_TRAIN_SESSIONS_SAVER_HOOKS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/train/input/coordinator.h"
#include "millstream/train/saving/saver.h"
#include "millstream/train/sessions/scaffold.h"
#include "millstream/train/sessions/session_run_hook.h"
#include "millstream/train/sessions/step_reader.h"
#include "millstream/train/sessions/step_timer.h"
#include "millstream/train/summaries/file_writer.h"

namespace millstream {

// Told of each checkpoint that a CheckpointSaverHook saves.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  virtual Status Begin() { return OkStatus(); }
  virtual Status BeforeSave(Session& /*session*/, int64_t /*global_step*/) { return OkStatus(); }
  // `*stop` true ends the training.
  virtual Status AfterSave(Session& /*session*/, int64_t /*global_step*/, bool* /*stop*/) { return OkStatus(); }
  virtual Status End(Session& /*session*/, int64_t /*global_step*/) { return OkStatus(); }
};

// Saves a checkpoint when the session was made, every so many steps or seconds, and at the end; logs it, and the graph
// once, to the folder's event file and graph.pbtxt. Training goes on while a checkpoint is written that is neither the
// first nor the last: it has the values of its step, the file `checkpoint` names it a moment later, and the next step
// returns its error. Listeners expect to find the files, so with them training waits.
class CheckpointSaverHook final : public SessionRunHook {
 public:
  // Told the path and the step of a checkpoint once its files are there, by the thread that wrote them. Unlike
  // CheckpointSaverListener it does not make training wait.
  using SavedListener = std::function<void(const std::string& path, int64_t step)>;
  struct Options {
    std::string checkpoint_dir;
    HookInterval every;
    std::shared_ptr<Saver> saver;        // exactly one of these
    std::shared_ptr<Scaffold> scaffold;  // its saver, when it is there
    std::string checkpoint_basename = "model.ckpt";
    std::vector<std::shared_ptr<CheckpointSaverListener>> listeners;
    bool save_graph_def = true;
    bool background = true;
    SavedListener on_saved = nullptr;
  };
  explicit CheckpointSaverHook(Options options);

  Status Begin(const Scope& scope) override;
  Status AfterCreateSession(Session& session, Coordinator& coordinator) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;
  Status End(Session& session) override;

 private:
  Status WriteGraph();
  Status Save(Session& session, int64_t step, bool* stop);
  Status SaveInBackground(Saver& saver, Session& session, int64_t step);
  void NoteSaved(const std::string& path, int64_t step);
  Status AwaitPending();
  StatusOr<Saver*> TheSaver() const;

  const Options options_;
  const std::string save_path_;
  StepTimer timer_;
  Scope scope_ = Scope::Root();  // the graph's, from Begin() on
  std::shared_ptr<FileWriter> writer_;
  StepReader step_;
  Coordinator* coordinator_ = nullptr;  // the session's, whose thread saves
  Mutex mu_;
  CondVar saved_;
  bool pending_ ABSL_GUARDED_BY(mu_) = false;
  Status pending_error_ ABSL_GUARDED_BY(mu_);  // of the last one
};

// Writes summaries every so many steps or seconds.
class SummarySaverHook final : public SessionRunHook {
 public:
  struct Options {
    HookInterval every;
    std::string output_dir;              // or
    std::shared_ptr<FileWriter> writer;  // neither: nothing is written
    Output summary_op;                   // exactly one of these
    std::shared_ptr<Scaffold> scaffold;  // its summary op, if it has one
  };
  explicit SummarySaverHook(Options options)
      : options_(std::move(options)), timer_(options_.every), writer_(options_.writer) {}

  Status Begin(const Scope& scope) override;
  Status BeforeRun(SessionRunContext& context, SessionRunArgs* args) override;
  Status AfterRun(SessionRunContext& context, const SessionRunValues& values) override;
  Status End(Session& session) override;

 private:
  const Options options_;
  StepTimer timer_;
  std::shared_ptr<FileWriter> writer_;
  StepReader step_;
  std::optional<int64_t> next_step_;
  bool wanted_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_SAVER_HOOKS_H_
