// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_SESSION_CREATOR_H_
#define MILLSTREAM_TRAIN_SESSIONS_SESSION_CREATOR_H_

#include <memory>
#include <string>

#include "millstream/runtime/local_server.h"
#include "millstream/train/sessions/scaffold.h"
#include "millstream/train/sessions/session_manager.h"

namespace millstream {

// Makes the plain sessions of a MonitoredSession: the first, and one more each time a task was lost.
class SessionCreator {
 public:
  virtual ~SessionCreator() = default;
  // Adds what the graph still lacks; called once, after hooks have begun.
  virtual Status Finalize() { return OkStatus(); }
  virtual StatusOr<std::unique_ptr<Session>> CreateSession() = 0;
  // What this process is in the job whose tasks the sessions use; null: nothing.
  virtual std::shared_ptr<JobMember> job() const { return nullptr; }
};

// Initializes the model, or restores it.
class ChiefSessionCreator final : public SessionCreator {
 public:
  // The latest checkpoint of `checkpoint_dir`, or the one at `checkpoint_path`; neither: none. `scaffold` null: a
  // default one.
  ChiefSessionCreator(const Scope& scope, std::shared_ptr<Scaffold> scaffold, SessionOptions config,
                      std::string checkpoint_dir = "", std::string checkpoint_path = "",
                      SessionManager::RestoreListener on_restore = nullptr);
  Status Finalize() override;
  StatusOr<std::unique_ptr<Session>> CreateSession() override;
  std::shared_ptr<JobMember> job() const override { return JobOf(config_); }

 private:
  const Scope scope_;
  const std::shared_ptr<Scaffold> scaffold_;
  const SessionOptions config_;
  const std::string checkpoint_dir_, checkpoint_path_;
  const SessionManager::RestoreListener on_restore_;
};

// Waits for the chief.
class WorkerSessionCreator final : public SessionCreator {
 public:
  WorkerSessionCreator(const Scope& scope, std::shared_ptr<Scaffold> scaffold, SessionOptions config,
                       double max_wait_secs = 30 * 60);
  Status Finalize() override;
  StatusOr<std::unique_ptr<Session>> CreateSession() override;
  std::shared_ptr<JobMember> job() const override { return JobOf(config_); }

 private:
  const Scope scope_;
  const std::shared_ptr<Scaffold> scaffold_;
  const SessionOptions config_;
  const double max_wait_secs_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_SESSION_CREATOR_H_
