// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_SUPERVISOR_H_
#define MILLSTREAM_TRAIN_SESSIONS_SUPERVISOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "millstream/base/cancellation.h"
#include "millstream/train/input/coordinator.h"
#include "millstream/train/sessions/scaffold.h"
#include "millstream/train/sessions/session_manager.h"
#include "millstream/train/sessions/step_reader.h"
#include "millstream/train/summaries/file_writer.h"

namespace millstream {

class JobMember;

struct SupervisorOptions {
  bool is_chief = true;
  std::string logdir;          // the chief's checkpoints and event files; "": none
  Scaffold scaffold;           // ops of the program's own; the rest is made. By default the saver is not sharded
  bool save_summaries = true;  // false: only those of SummaryComputed(); as summary_op=None
  std::shared_ptr<FileWriter> summary_writer;  // null: one for logdir
  double save_summaries_secs = 120;            // 0: never
  double save_model_secs = 600;                // 0: never
  double recovery_wait_secs = 30;
  double stop_grace_secs = 120;
  std::string checkpoint_basename = "model.ckpt";
};

// A session with its services, as tf.train.Supervisor: the chief initializes or restores the model and has threads that
// save checkpoints, summaries and steps per second; other workers wait for it. Errors in these threads stop the
// training and are returned by Stop(). It does not recover from lost tasks: call PrepareOrWaitForSession() again.
// ShouldStop(), RequestStop(), Loop() and SummaryComputed() may be called from any thread.
class Supervisor {
 public:
  // Adds what the graph still lacks; nodes must not be added afterwards.
  static StatusOr<std::unique_ptr<Supervisor>> Make(const Scope& scope, SupervisorOptions options);
  ~Supervisor();  // Stop()

  // A session whose model is ready, with its services and queue runners. It belongs to the supervisor, until Stop() or
  // the next such call. DeadlineExceeded if a worker has waited `max_wait_secs`; OutOfRange if the job is done, as a ps
  // told: then there is nothing to do, and ShouldStop() is true.
  struct PrepareOptions {
    bool start_standard_services = true;
    bool wait_for_checkpoint = false;
    double max_wait_secs = 7200;
  };
  StatusOr<Session*> PrepareOrWaitForSession(const SessionOptions& config, const PrepareOptions& options);
  StatusOr<Session*> PrepareOrWaitForSession(const SessionOptions& config = {}) {
    return PrepareOrWaitForSession(config, PrepareOptions());
  }
  // Calls `body` with such a session, unless the job is done, then Stop(). The first error of all.
  Status ManagedSession(const SessionOptions& config, const std::function<Status(Session&)>& body);

  // Threads that end with the supervisor. The first is for the chief; FailedPrecondition for others.
  Status StartStandardServices();
  void StartQueueRunners();
  // Calls `body` every so many seconds in a thread; an error stops all.
  void Loop(double interval_secs, std::function<Status()> body);

  bool ShouldStop() const { return coordinator_->ShouldStop(); }
  void RequestStop(Status why = OkStatus()) { coordinator_->RequestStop(std::move(why)); }
  void WaitForStop() { coordinator_->WaitForStop(); }
  // Ends threads, event file and session. The first error of the threads.
  Status Stop(bool close_summary_writer = true);

  // Writes a summary that the program has computed. Without a step: the global step. FailedPrecondition without a
  // writer.
  Status SummaryComputed(absl::string_view summary, std::optional<int64_t> global_step = std::nullopt);

  bool is_chief() const { return options_.is_chief; }
  Coordinator& coordinator() { return *coordinator_; }
  const std::shared_ptr<FileWriter>& summary_writer() const { return writer_; }
  const std::shared_ptr<Saver>& saver() const { return options_.scaffold.saver; }
  const std::string& save_path() const { return save_path_; }  // "" without logdir

 private:
  Supervisor(const Scope& scope, SupervisorOptions options) : scope_(scope), options_(std::move(options)) {}
  Status Finalize();
  StatusOr<std::unique_ptr<Session>> MakeSession(const SessionOptions& config, const PrepareOptions& options);
  Status WriteGraph();
  Status SaveSummary();
  Status SaveModel();
  void StartStepCounter(int64_t step);
  void CloseSession();
  void EndWhenToldToStop();

  const Scope scope_;
  SupervisorOptions options_;  // constant after Make()
  std::string save_path_;
  StepReader step_;
  std::shared_ptr<FileWriter> writer_;
  bool graph_written_ = false;
  std::shared_ptr<JobMember> job_;
  bool stop_watched_ = false;
  Cancellation::Token stop_token_ = 0;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Coordinator> coordinator_ = std::make_unique<Coordinator>();  // its threads use what is above
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_SUPERVISOR_H_
