// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_MONITORED_SESSION_H_
#define MILLSTREAM_TRAIN_SESSIONS_MONITORED_SESSION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/train/input/coordinator.h"
#include "millstream/train/sessions/session_creator.h"
#include "millstream/train/sessions/session_run_hook.h"

namespace millstream {

class JobMember;

using SessionRunHooks = std::vector<std::shared_ptr<SessionRunHook>>;

// A session that looks after itself, as tf.train.MonitoredSession: it initializes or restores the model, starts queue
// runners, calls hooks around each step, and goes on when a task was lost. Used so:
//
//   Status status;
//   while (status.ok() && !session->ShouldStop()) status = session->Run({}, {}, {train_op->name()}, &out);
//   return session->Close(status);
//
// Aborted and Unavailable mean a lost task: the session is closed, a new one is made as soon as that is possible, hooks
// get AfterCreateSession() again and the step is repeated: updates of variables that were applied before are passed
// over (docs/adr/0031-repeated-steps.md). All other errors are returned. One thread at a time.
//
// A worker that comes when its job is done, as a ps tells it, has nothing to do: ShouldStop() is true from the start.
// If that is found out in a step, it returns OutOfRange, as at the end of input. So it is when this task is told to
// stop (runtime/job_member.h): Close() then saves.
class MonitoredSession {
 public:
  struct Options {
    double stop_grace_period_secs = 120;
    bool recover = true;
  };
  // Calls Begin() of hooks, then makes the first session; waits as long as that takes. `scope` is the whole graph.
  static StatusOr<std::unique_ptr<MonitoredSession>> Make(const Scope& scope, std::unique_ptr<SessionCreator> creator,
                                                          SessionRunHooks hooks, const Options& options);
  static StatusOr<std::unique_ptr<MonitoredSession>> Make(const Scope& scope, std::unique_ptr<SessionCreator> creator,
                                                          SessionRunHooks hooks) {
    return Make(scope, std::move(creator), std::move(hooks), Options());
  }
  // One that has nothing to do: ShouldStop() is true from the start.
  static std::unique_ptr<MonitoredSession> MakeFinished();
  // Closes as after an error: End() of hooks is not called.
  virtual ~MonitoredSession();

  // True once a hook, or a thread of the coordinator, wants no more steps.
  bool ShouldStop();
  // One step with its hooks. FailedPrecondition after the end.
  Status Run(const RunOptions& options, const Session::Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs, proto::RunMetadata* metadata);
  Status Run(const Session::Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs) {
    return Run(RunOptions(), feeds, fetches, targets, outputs, nullptr);
  }
  // Calls `step` with the plain session, whose steps call no hooks; after a lost task once more.
  Status RunStep(const std::function<Status(Session&)>& step);

  // Ends it. `why` is the error that ended the training, if any: OutOfRange is the regular end of input. If there was
  // none, hooks get End(). Returns `why`, or else the first error of threads or of the end itself.
  Status Close(Status why = OkStatus());

 protected:
  // The session with what lives as long as it does.
  struct Live {
    std::unique_ptr<Session> session;
    std::unique_ptr<Coordinator> coordinator;  // goes first: its threads use the session
  };
  MonitoredSession(const Scope& scope, std::unique_ptr<SessionCreator> creator, SessionRunHooks hooks,
                   const Options& options);
  Status Begin();  // calls hooks, then makes the first session
  const std::unique_ptr<Live>& live() const { return live_; }

 private:
  Status CreateOnce();
  Status PrepareLive();
  Status Create();
  Status JobIsDone(const Status& why);
  bool StopAsked() const;
  void Lost(const Status& why);
  Status CloseLive();
  Status WithRecovery(const std::function<Status()>& step);
  Status RunWithHooks(const SessionRunArgs& args, std::vector<Tensor>* outputs, proto::RunMetadata* metadata);
  Status OrCoordinatorsError(Status status) const;

  const Scope scope_;
  const std::unique_ptr<SessionCreator> creator_;
  const SessionRunHooks hooks_;
  const Options options_;
  const uint64_t client_;  // of the StepIdentity of its steps; 0: it repeats none
  uint64_t next_number_ = 0;
  std::shared_ptr<JobMember> job_;  // null: no cluster, or one that this process is not in
  std::unique_ptr<Live> live_;
  bool closed_ = false;
  bool stop_requested_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_MONITORED_SESSION_H_
