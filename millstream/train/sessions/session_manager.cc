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
#include "millstream/train/saving/checkpoint_search.h"
#include "millstream/train/variables/variables.h"

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

std::optional<FoundCheckpoints> AwaitCheckpoints(const SessionManager::Checkpoint& checkpoint, double pause_secs,
                                                 const SessionOptions& config) {
  const auto start = Clock::now();
  Teller teller;
  while (true) {
    std::optional<FoundCheckpoints> found = FindCheckpointsToRestore(checkpoint.folder);
    if (found.has_value() || !checkpoint.wait || SecsSince(start) > checkpoint.max_wait_secs || IsStopping(config))
      return found;
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

StatusOr<std::optional<std::vector<Output>>> SessionManager::Uninitialized(const SessionOptions& config,
                                                                           Session& session) const {
  const std::vector<Output>& all = scope_.Collection(graph_keys::kGlobalVariables);
  const Output& op = options_.uninitialized_op          ? options_.uninitialized_op
                     : options_.ready_for_local_init_op ? options_.ready_for_local_init_op
                                                        : options_.ready_op;
  if (config.target.empty() || config.target == "local" || !op || all.empty()) return std::nullopt;
  std::vector<Tensor> out;
  const Status status = session.Run({}, {op.name()}, {}, &out);
  if (absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "uninitialized")) return std::nullopt;
  RETURN_IF_ERROR(status);
  std::vector<Output> missing;
  if (out[0].num_elements() == 0) return missing;
  if (out[0].dtype() != DType::kString) return std::nullopt;
  const auto names = out[0].flat<std::string>();
  for (const Output& variable : all) {
    if (std::find(names.begin(), names.end(), variable.node->name()) != names.end()) missing.push_back(variable);
  }
  // Names of something else: nobody knows what is live.
  if (!options_.uninitialized_op && missing.empty()) return std::nullopt;
  if (missing.size() == all.size()) return std::nullopt;
  return missing;
}

StatusOr<SessionManager::Values> SessionManager::FindValues(const SessionOptions& config, Session& session,
                                                            const Checkpoint& checkpoint) {
  if (!checkpoint.folder.empty() && !checkpoint.path.empty()) {
    return errors::InvalidArgument("Can not provide both a checkpoint's folder and its path.");
  }
  if (checkpoint.saver != nullptr && !checkpoint.path.empty()) {
    RETURN_IF_ERROR(checkpoint.saver->Restore(session, checkpoint.path));
    if (checkpoint.on_restore != nullptr) checkpoint.on_restore(checkpoint.path, /*restored=*/true);
    return Values{/*present=*/true, {}};
  }
  ASSIGN_OR_RETURN(std::optional<std::vector<Output>> missing, Uninitialized(config, session));
  const bool live = missing.has_value() && missing->empty();
  std::optional<FoundCheckpoints> found;
  std::string path;
  if (checkpoint.saver != nullptr && !checkpoint.folder.empty()) {
    found = live ? FindCheckpointsToRestore(checkpoint.folder)
                 : AwaitCheckpoints(checkpoint, std::min(options_.recovery_wait_secs, 1.0), config);
    if (found.has_value()) path = found->state.model_checkpoint_path;
  }
  if (live) {
    LogInfo(absl::StrCat("The variables of ", config.target, " are live: ",
                         found.has_value() ? absl::StrCat("the checkpoint ", path, " is not restored over them.")
                                           : "they are not initialized again."));
  } else {
    if (found.has_value()) {
      ASSIGN_OR_RETURN(path, RestoreLatestReadable(*checkpoint.saver, session, *found));
    }
    if (path.empty()) return Values{/*present=*/false, std::move(missing).value_or(std::vector<Output>())};
  }
  if (checkpoint.on_restore != nullptr) checkpoint.on_restore(path, !live);
  if (found.has_value()) checkpoint.saver->RecoverLastCheckpoints(found->state.all_model_checkpoint_paths);
  return Values{/*present=*/true, {}};
}

Status SessionManager::Initialize(Session& session, const Init& init, const std::vector<Output>& missing) const {
  std::vector<Tensor> none;
  if (!missing.empty()) {
    std::vector<std::string> names, initializers;
    for (const Output& variable : missing) {
      const Node* initializer = FindVariable(scope_, variable).initializer;
      if (initializer == nullptr)
        return errors::FailedPrecondition("Variable ", variable.node->name(), " has no initializer");
      names.push_back(variable.node->name());
      initializers.push_back(initializer->name());
    }
    LogWarning(absl::StrCat(
        "The variables of some tasks are live and are kept; there is no checkpoint, so only these are initialized",
        init.fn != nullptr ? ", without init_fn: " : ": ", absl::StrJoin(names, ", ")));
    return session.Run(init.feeds, {}, initializers, &none);
  }
  if (init.op == nullptr && init.fn == nullptr && options_.local_init_op == nullptr) {
    return errors::FailedPrecondition("Model is not initialized and no init_op or init_fn or local_init_op was given");
  }
  if (init.op != nullptr) RETURN_IF_ERROR(session.Run(init.feeds, {}, {init.op->name()}, &none));
  return init.fn != nullptr ? init.fn(session) : OkStatus();
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
  ASSIGN_OR_RETURN(const Values values, FindValues(config, *session, checkpoint));
  if (!values.present) RETURN_IF_ERROR(Initialize(*session, init, values.missing));
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
  ASSIGN_OR_RETURN(const Values values, FindValues(config, *recovered.session, checkpoint));
  ASSIGN_OR_RETURN(const Readiness readiness, MakeReady(*recovered.session));
  recovered.ready = values.present && readiness.ready;
  if (!readiness.ready)
    LogInfo(absl::StrCat(values.present ? "Restoring" : "Recovering", " model not ready: ", readiness.reason));
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
