// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/session_manager.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/runtime/local_server.h"
#include "millstream/train/saving/checkpoint_management.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kTellEverySecs = 30;

double SecsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
void Sleep(double secs) { std::this_thread::sleep_for(std::chrono::duration<double>(secs)); }

bool IsLost(const Status& status) { return absl::IsUnavailable(status) || absl::IsAborted(status); }

// Says each message when it is new, and again every 30 seconds.
class Teller {
 public:
  void Tell(const std::string& message) {
    if (message == told_ && SecsSince(when_) < kTellEverySecs) return;
    LogInfo(message);
    told_ = message;
    when_ = Clock::now();
  }

 private:
  std::string told_;
  Clock::time_point when_;
};

// The latest checkpoint; an older one if it cannot be read. Returns the path of the one that was restored.
StatusOr<std::string> RestoreBest(Saver& saver, Session& session, const CheckpointState& state) {
  std::vector<std::string> paths = {state.model_checkpoint_path};
  for (auto it = state.all_model_checkpoint_paths.rbegin(); it != state.all_model_checkpoint_paths.rend(); ++it) {
    if (*it != state.model_checkpoint_path) paths.push_back(*it);
  }
  Status status;
  for (const std::string& path : paths) {
    status = saver.Restore(session, path);
    if (status.ok()) return path;
    const bool unreadable = absl::IsDataLoss(status) || (absl::IsInvalidArgument(status) && !CheckpointExists(path));
    if (!unreadable) return status;
    LogWarning(absl::StrCat(path, " cannot be restored (", status.message(), ")"));
  }
  return status;
}

std::optional<CheckpointState> AwaitState(const SessionManager::Checkpoint& checkpoint, double pause_secs,
                                          const SessionOptions& config) {
  const auto start = Clock::now();
  Teller teller;
  while (true) {
    std::optional<CheckpointState> state = GetCheckpointState(checkpoint.folder);
    if (state.has_value() || !checkpoint.wait || SecsSince(start) > checkpoint.max_wait_secs || IsStopping(config))
      return state;
    teller.Tell(absl::StrCat("Waiting for checkpoint to be available in ", checkpoint.folder, "."));
    Sleep(pause_secs);
  }
}

int64_t TimeoutOf(double secs) {
  return secs < 1e9 ? std::max<int64_t>(1, static_cast<int64_t>(std::ceil(secs * 1000))) : 0;
}

}  // namespace

StatusOr<SessionManager::Readiness> SessionManager::Ready(const Output& op, Session& session, int64_t timeout_ms) {
  if (!op) return Readiness();
  RunOptions options;
  options.timeout_ms = timeout_ms;
  std::vector<Tensor> out;
  const Status status = session.Run(options, {}, {op.name()}, {}, &out, nullptr);
  if (absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "uninitialized")) {
    return Readiness{false, std::string(status.message())};
  }
  RETURN_IF_ERROR(status);
  if (out[0].num_elements() == 0) return Readiness();
  if (out[0].dtype() != DType::kString) return Readiness{false, out[0].DebugString()};
  return Readiness{false, absl::StrCat("Variables not initialized: ", absl::StrJoin(out[0].flat<std::string>(), ", "))};
}

StatusOr<std::unique_ptr<Session>> SessionManager::NewSession(const SessionOptions& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, millstream::NewSession(config));
  RETURN_IF_ERROR(session->Extend(*scope_.graph()));
  return session;
}

StatusOr<bool> SessionManager::Restore(const SessionOptions& config, Session& session, const Checkpoint& checkpoint) {
  if (!checkpoint.folder.empty() && !checkpoint.path.empty()) {
    return errors::InvalidArgument("Can not provide both a checkpoint's folder and its path.");
  }
  if (checkpoint.saver == nullptr) return false;
  if (!checkpoint.path.empty()) {
    RETURN_IF_ERROR(checkpoint.saver->Restore(session, checkpoint.path));
    if (checkpoint.on_restore != nullptr) checkpoint.on_restore(checkpoint.path, /*restored=*/true);
    return true;
  }
  if (checkpoint.folder.empty()) return false;
  const std::optional<CheckpointState> state =
      AwaitState(checkpoint, std::min(options_.recovery_wait_secs, 1.0), config);
  if (!state.has_value()) return false;
  bool live = false;
  const Output& asks = options_.ready_for_local_init_op ? options_.ready_for_local_init_op : options_.ready_op;
  if (!config.target.empty() && config.target != "local" && asks) {
    ASSIGN_OR_RETURN(const Readiness readiness, Ready(asks, session));
    live = readiness.ready;
  }
  std::string path = state->model_checkpoint_path;
  if (live) {
    LogInfo(absl::StrCat("The variables of ", config.target, " are live: the checkpoint ", state->model_checkpoint_path,
                         " is not restored over them."));
  } else {
    ASSIGN_OR_RETURN(path, RestoreBest(*checkpoint.saver, session, *state));
  }
  if (checkpoint.on_restore != nullptr) checkpoint.on_restore(path, !live);
  checkpoint.saver->RecoverLastCheckpoints(state->all_model_checkpoint_paths);
  return true;
}

StatusOr<SessionManager::Readiness> SessionManager::MakeReady(Session& session, int64_t timeout_ms) {
  if (options_.local_init_op != nullptr) {
    ASSIGN_OR_RETURN(const Readiness readiness, Ready(options_.ready_for_local_init_op, session, timeout_ms));
    if (!readiness.ready) return readiness;
    std::vector<Tensor> none;
    LogInfo("Running local_init_op.");
    RETURN_IF_ERROR(session.Run(options_.local_init_feeds, {}, {options_.local_init_op->name()}, &none));
    LogInfo("Done running local_init_op.");
  }
  return Ready(options_.ready_op, session, timeout_ms);
}

StatusOr<std::unique_ptr<Session>> SessionManager::PrepareSession(const SessionOptions& config, const Init& init,
                                                                  const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, NewSession(config));
  ASSIGN_OR_RETURN(const bool restored, Restore(config, *session, checkpoint));
  if (!restored) {
    if (init.op == nullptr && init.fn == nullptr && options_.local_init_op == nullptr) {
      return errors::FailedPrecondition(
          "Model is not initialized and no init_op or init_fn or local_init_op was given");
    }
    std::vector<Tensor> none;
    if (init.op != nullptr) RETURN_IF_ERROR(session->Run(init.feeds, {}, {init.op->name()}, &none));
    if (init.fn != nullptr) RETURN_IF_ERROR(init.fn(*session));
  }
  ASSIGN_OR_RETURN(const Readiness readiness, MakeReady(*session));
  if (!readiness.ready) {
    return errors::FailedPrecondition("Init operations did not make model ready.  Init op: ",
                                      init.op == nullptr ? "none" : init.op->name(), ", error: ", readiness.reason);
  }
  return session;
}

StatusOr<SessionManager::Recovered> SessionManager::RecoverSession(const SessionOptions& config,
                                                                   const Checkpoint& checkpoint) {
  Recovered recovered;
  ASSIGN_OR_RETURN(recovered.session, NewSession(config));
  ASSIGN_OR_RETURN(const bool restored, Restore(config, *recovered.session, checkpoint));
  ASSIGN_OR_RETURN(const Readiness readiness, MakeReady(*recovered.session));
  recovered.ready = restored && readiness.ready;
  if (!readiness.ready)
    LogInfo(absl::StrCat(restored ? "Restoring" : "Recovering", " model not ready: ", readiness.reason));
  return recovered;
}

StatusOr<std::unique_ptr<Session>> SessionManager::WaitForSession(const SessionOptions& config, double max_wait_secs) {
  const auto start = Clock::now();
  Teller teller;
  double pause = 0.02;
  while (true) {
    StatusOr<std::unique_ptr<Session>> session = NewSession(config);
    Status status = session.status();
    std::string reason;
    if (status.ok()) {
      const StatusOr<Readiness> readiness =
          MakeReady(**session, TimeoutOf(std::max(0.0, max_wait_secs - SecsSince(start))));
      if (readiness.ok() && readiness->ready) return session;
      if (readiness.ok()) reason = readiness->reason;
      status = readiness.status();
      (*session)->Close().IgnoreError();
    }
    const bool too_late = SecsSince(start) >= max_wait_secs;
    if (!status.ok()) {
      if (!IsLost(status) && !(too_late && absl::IsDeadlineExceeded(status))) return status;
      reason = std::string(status.message());
    }
    if (too_late) {
      return errors::DeadlineExceeded("Session was not ready after waiting ", max_wait_secs,
                                      " secs. Last reason: ", reason);
    }
    if (IsStopping(config)) return errors::Cancelled("This task was told to stop before the model was ready.");
    teller.Tell(absl::StrCat("Waiting for model to be ready. ", reason));
    Sleep(std::min({pause, options_.recovery_wait_secs, std::max(0.0, max_wait_secs - SecsSince(start))}));
    pause = std::min(pause * 1.6, 1.0);
  }
}

}  // namespace millstream
