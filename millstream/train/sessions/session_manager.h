// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_SESSION_MANAGER_H_
#define MILLSTREAM_TRAIN_SESSIONS_SESSION_MANAGER_H_

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millstream/runtime/session.h"
#include "millstream/train/saving/saver.h"

namespace millstream {

// Makes sessions whose model is ready: initialized, restored from a checkpoint, or waited for. As
// tf.train.SessionManager.
//
// Live variables are not reset, so that a chief may be restarted while others train. They are asked for before anybody
// looks for a checkpoint: at a cluster whose global variables are all initialized, nothing is restored or initialized.
// If only some are (a ps was restarted), all are restored together; without a checkpoint the others are initialized.
class SessionManager {
 public:
  struct Options {
    Output ready_op;                 // names of what is not ready; none: everything always is
    Output ready_for_local_init_op;  // the same of what local_init_op needs
    Output uninitialized_op;         // names of global variables without a value; none: one of the above is asked
    Node* local_init_op = nullptr;
    Session::Feeds local_init_feeds;
    double recovery_wait_secs = 30;  // the longest pause between two looks
  };
  // Where the model's first values come from, beside checkpoints.
  struct Init {
    Node* op = nullptr;
    Session::Feeds feeds;
    std::function<Status(Session&)> fn;
  };
  // Told which checkpoint was restored, or (`restored` false) left alone because the variables are live; "" if there
  // was none.
  using RestoreListener = std::function<void(const std::string& path, bool restored)>;
  // Which checkpoint to restore: none, the latest of a folder that can be read, or the one with that path, which is
  // restored over live variables, too.
  struct Checkpoint {
    std::shared_ptr<Saver> saver;
    std::string folder;
    std::string path;
    bool wait = false;  // until the folder has one
    double max_wait_secs = 7200;
    RestoreListener on_restore = nullptr;
  };
  // Whether a session's model is ready, and if not, why.
  struct Readiness {
    bool ready = true;
    std::string reason;
  };
  struct Recovered {
    std::unique_ptr<Session> session;
    bool ready = false;
  };

  // Sessions get the scope's graph as it is when they are made.
  SessionManager(const Scope& scope, Options options) : scope_(scope), options_(std::move(options)) {}

  // For the chief: restores or else initializes the model, unless it is live. FailedPrecondition if that does not make
  // it ready. A checkpoint that cannot be read is passed over for the one before it.
  StatusOr<std::unique_ptr<Session>> PrepareSession(const SessionOptions& config, const Init& init,
                                                    const Checkpoint& checkpoint);
  // Restores, but initializes nothing.
  StatusOr<Recovered> RecoverSession(const SessionOptions& config, const Checkpoint& checkpoint);
  // For workers: waits until the chief has made the model ready, and says every 30 seconds what is missing.
  // DeadlineExceeded.
  StatusOr<std::unique_ptr<Session>> WaitForSession(const SessionOptions& config,
                                                    double max_wait_secs = std::numeric_limits<double>::infinity());

  // What `op` says of the session's model: nothing is missing, or names.
  static StatusOr<Readiness> Ready(const Output& op, Session& session, int64_t timeout_ms = 0);

 private:
  StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& config);
  // Whether the model has values (live or restored); if not, which variables lack one where others are live.
  struct Values {
    bool present = false;
    std::vector<Output> missing;
  };
  StatusOr<Values> FindValues(const SessionOptions& config, Session& session, const Checkpoint& checkpoint);
  // The global variables without a value; nothing if none is live.
  StatusOr<std::optional<std::vector<Output>>> Uninitialized(const SessionOptions& config, Session& session) const;
  Status Initialize(Session& session, const Init& init, const std::vector<Output>& missing) const;
  StatusOr<Readiness> MakeReady(Session& session, int64_t timeout_ms = 0);

  const Scope scope_;
  const Options options_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_SESSION_MANAGER_H_
