// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_SESSION_RUN_HOOK_H_
#define MILLSTREAM_TRAIN_SESSIONS_SESSION_RUN_HOOK_H_

#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {

class Coordinator;

// What a step is asked for; names as Session::Run() takes them.
struct SessionRunArgs {
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  Session::Feeds feeds;
  RunOptions options;  // of hooks and caller together: the longest timeout, a trace if anybody wants one
};

// What a step gave: values of a hook's own fetches, in their order.
struct SessionRunValues {
  std::vector<Tensor> results;
  const RunOptions& options;                     // the step ran with these
  const proto::RunMetadata* metadata = nullptr;  // null if nobody asked for any (a trace, partition graphs)
};

// One step as its hooks see it.
class SessionRunContext {
 public:
  SessionRunContext(const SessionRunArgs& original_args, Session& session)
      : original_args_(original_args), session_(session) {}
  const SessionRunArgs& original_args() const { return original_args_; }  // the caller's, without those of hooks
  Session& session() { return session_; }                                 // plain: its steps call no hooks
  bool stop_requested() const { return stop_requested_; }
  // No step after this one: MonitoredSession::ShouldStop() becomes true.
  void RequestStop() { stop_requested_ = true; }

 private:
  const SessionRunArgs& original_args_;
  Session& session_;
  bool stop_requested_ = false;
};

// Users derive from it to watch and steer a MonitoredSession, as in TensorFlow. Everything is called from the thread
// that uses the session. An error ends the call that led to it; Aborted and Unavailable make the session be built
// again.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;
  // Once, before there is a session. The only place where nodes may still be added.
  virtual Status Begin(const Scope& /*scope*/) { return OkStatus(); }
  // After each time the session was made: at the start, and after a task was lost. The model is initialized. Threads
  // that are started at `coordinator` end with the session.
  virtual Status AfterCreateSession(Session& /*session*/, Coordinator& /*coordinator*/) { return OkStatus(); }
  // Before each step: what it shall fetch, run and be fed for this hook goes into `args`, which is empty.
  virtual Status BeforeRun(SessionRunContext& /*context*/, SessionRunArgs* /*args*/) { return OkStatus(); }
  virtual Status AfterRun(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) { return OkStatus(); }
  // Once, when the session is closed and nothing went wrong; it can still run steps.
  virtual Status End(Session& /*session*/) { return OkStatus(); }
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_SESSION_RUN_HOOK_H_
