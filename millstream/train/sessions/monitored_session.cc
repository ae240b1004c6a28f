// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/monitored_session.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "millstream/base/logging.h"
#include "millstream/base/random.h"
#include "millstream/proto/config.pb.h"
#include "millstream/runtime/job_member.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/sessions/stop_during_creation.h"

namespace millstream {
namespace {

constexpr std::chrono::seconds kTellEvery{30};

bool IsLost(const Status& status) { return absl::IsAborted(status) || absl::IsUnavailable(status); }

void Keep(Status* first, Status next) {
  if (first->ok()) *first = std::move(next);
}

// What caller and hooks ask a step for, in one request. A value that several of them want is fetched once.
class Request {
 public:
  explicit Request(const SessionRunArgs& caller) : args_(caller) {
    args_.fetches.clear();
    args_.targets.clear();
    for (const auto& [name, value] : caller.feeds) fed_.insert(name);
    Add(caller);
  }

  Status AddHook(const SessionRunArgs& args) {
    for (const auto& [name, value] : args.feeds) {
      if (!fed_.insert(name).second) {
        return errors::FailedPrecondition("Same tensor is fed by a hook and by another one or the user: ", name);
      }
      args_.feeds.emplace_back(name, value);
    }
    RunOptions& options = args_.options;
    options.timeout_ms = std::max(options.timeout_ms, args.options.timeout_ms);
    options.full_trace = options.full_trace || args.options.full_trace;
    options.partition_graphs = options.partition_graphs || args.options.partition_graphs;
    Add(args);
    return OkStatus();
  }

  const SessionRunArgs& args() const { return args_; }
  // What the requester of that number asked for; the caller's is 0.
  std::vector<Tensor> Take(size_t requester, const std::vector<Tensor>& fetched) const {
    std::vector<Tensor> values;
    for (size_t i : places_[requester]) values.push_back(fetched[i]);
    return values;
  }

 private:
  void Add(const SessionRunArgs& args) {
    std::vector<size_t>& places = places_.emplace_back();
    for (const std::string& name : args.fetches) {
      const auto [it, is_new] = place_of_.emplace(name, args_.fetches.size());
      if (is_new) args_.fetches.push_back(name);
      places.push_back(it->second);
    }
    args_.targets.insert(args_.targets.end(), args.targets.begin(), args.targets.end());
  }

  SessionRunArgs args_;
  std::unordered_map<std::string, size_t> place_of_;
  std::unordered_set<std::string> fed_;
  std::vector<std::vector<size_t>> places_;
};

}  // namespace

MonitoredSession::MonitoredSession(const Scope& scope, std::unique_ptr<SessionCreator> creator, SessionRunHooks hooks,
                                   const Options& options)
    : scope_(scope),
      creator_(std::move(creator)),
      hooks_(std::move(hooks)),
      options_(options),
      client_(options.recover ? RandomNumber() | 1 : 0) {}

StatusOr<std::unique_ptr<MonitoredSession>> MonitoredSession::Make(const Scope& scope,
                                                                   std::unique_ptr<SessionCreator> creator,
                                                                   SessionRunHooks hooks, const Options& options) {
  std::unique_ptr<MonitoredSession> session(new MonitoredSession(scope, std::move(creator), std::move(hooks), options));
  RETURN_IF_ERROR(session->Begin());
  return session;
}

Status MonitoredSession::Begin() {
  for (const auto& hook : hooks_) RETURN_IF_ERROR(hook->Begin(scope_));
  RETURN_IF_ERROR(creator_->Finalize());
  RETURN_IF_ERROR(scope_.status());
  job_ = creator_->job();
  if (job_ != nullptr) job_->TrainingBegins();
  const Status status = Create();
  return stop_requested_ ? OkStatus() : status;  // a job that is done is no error
}

std::unique_ptr<MonitoredSession> MonitoredSession::MakeFinished() {
  std::unique_ptr<MonitoredSession> session(new MonitoredSession(Scope::Root(), nullptr, {}, Options()));
  session->stop_requested_ = true;
  return session;
}

MonitoredSession::~MonitoredSession() {
  if (!closed_) CloseLive().IgnoreError();
}

Status MonitoredSession::CreateOnce() {
  auto live = std::make_unique<Live>();
  ASSIGN_OR_RETURN(live->session, creator_->CreateSession());
  live->coordinator = std::make_unique<Coordinator>(std::vector<absl::StatusCode>{});
  live_ = std::move(live);
  Status status = PrepareLive();
  if (!status.ok()) CloseLive().IgnoreError();
  return status;
}

Status MonitoredSession::PrepareLive() {
  StopDuringCreation stop(job_.get(), *live_->session);
  StartQueueRunners(scope_, *live_->session, *live_->coordinator);
  for (const auto& hook : hooks_) RETURN_IF_ERROR(hook->AfterCreateSession(*live_->session, *live_->coordinator));
  return stop.End() ? job_->stop().status() : OkStatus();
}

Status MonitoredSession::Create() {
  std::string told;
  auto when = std::chrono::steady_clock::now();
  for (auto pause = std::chrono::milliseconds(50);; pause = std::min(pause * 8 / 5, std::chrono::milliseconds(1000))) {
    const Status status = CreateOnce();
    if (!status.ok() && job_ != nullptr && (job_->JobIsDone() || StopAsked())) return JobIsDone(status);
    if (!options_.recover || !IsLost(status)) return status;
    const auto now = std::chrono::steady_clock::now();
    if (told != status.message() || now - when >= kTellEvery) {
      LogInfo(absl::StrCat(
          "An error was raised while a session was being created. This may be due to a preemption of a connected "
          "worker or parameter server. A new session will be created. Error: ",
          status.message()));
      told = std::string(status.message());
      when = now;
    }
    std::this_thread::sleep_for(pause);
  }
}

bool MonitoredSession::StopAsked() const { return job_ != nullptr && job_->stop().IsCancelled(); }

Status MonitoredSession::JobIsDone(const Status& why) {
  LogInfo(absl::StrCat("There is nothing left to do: ", why.message()));
  stop_requested_ = true;
  return errors::OutOfRange(why.message());
}

void MonitoredSession::Lost(const Status& why) {
  LogInfo(absl::StrCat(
      "An error was raised. This may be due to a preemption in a connected worker or parameter server. The current "
      "session will be closed and a new session will be created. Error: ",
      why.message()));
  CloseLive().IgnoreError();
}

Status MonitoredSession::CloseLive() {
  if (live_ == nullptr) return OkStatus();
  live_->coordinator->RequestStop();
  Status status = live_->coordinator->Join({options_.stop_grace_period_secs, /*ignore_live_threads=*/true});
  const Status closed = live_->session->Close();
  if (IsLost(closed)) {
    LogError(absl::StrCat("An error occurred when attempting to close the session: ", closed.ToString()));
  } else {
    Keep(&status, closed);
  }
  live_.reset();
  return status;
}

Status MonitoredSession::OrCoordinatorsError(Status status) const {
  // A thread that lost its task makes steps fail in other ways; the first cause is what counts.
  if (status.ok() || IsLost(status) || live_ == nullptr) return status;
  Status first = live_->coordinator->RequestedError();
  return IsLost(first) ? first : status;
}

Status MonitoredSession::WithRecovery(const std::function<Status()>& step) {
  if (closed_) return errors::FailedPrecondition("Session is already closed.");
  if (live_ == nullptr && stop_requested_) {
    return errors::FailedPrecondition("Run called even after should_stop requested.");
  }
  while (true) {
    if (StopAsked()) return errors::OutOfRange(job_->stop().status().message());
    Status status = live_ == nullptr ? Create() : OkStatus();
    if (status.ok()) status = OrCoordinatorsError(step());
    // A step that was cancelled for it is no error: what has been done is saved.
    if (!status.ok() && StopAsked()) return errors::OutOfRange(status.message());
    if (!options_.recover || !IsLost(status)) return status;
    Lost(status);
  }
}

bool MonitoredSession::ShouldStop() {
  if (closed_ || stop_requested_ || StopAsked()) return true;
  if (live_ == nullptr) return false;
  const Status error = live_->coordinator->RequestedError();
  if (error.ok()) return live_->coordinator->ShouldStop();
  if (options_.recover && IsLost(error)) {
    Lost(error);
    return false;  // the next step makes a new session
  }
  LogInfo(absl::StrCat("An error was raised while considering whether to stop: ", error.ToString()));
  return true;  // Close() returns it
}

Status MonitoredSession::Run(const RunOptions& options, const Session::Feeds& feeds,
                             const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                             std::vector<Tensor>* outputs, proto::RunMetadata* metadata) {
  SessionRunArgs args{fetches, targets, feeds, options};
  args.options.identity = {client_, ++next_number_};  // the same however often it is repeated
  return WithRecovery([&] { return RunWithHooks(args, outputs, metadata); });
}

Status MonitoredSession::RunStep(const std::function<Status(Session&)>& step) {
  return WithRecovery([&] { return step(*live_->session); });
}

Status MonitoredSession::RunWithHooks(const SessionRunArgs& args, std::vector<Tensor>* outputs,
                                      proto::RunMetadata* metadata) {
  if (stop_requested_ || live_->coordinator->ShouldStop()) {
    Status error = live_->coordinator->RequestedError();
    return error.ok() ? errors::FailedPrecondition("Run called even after should_stop requested.") : error;
  }
  SessionRunContext context(args, *live_->session);
  Request request(args);
  for (const auto& hook : hooks_) {
    SessionRunArgs wanted;
    RETURN_IF_ERROR(hook->BeforeRun(context, &wanted));
    RETURN_IF_ERROR(request.AddHook(wanted));
  }
  const SessionRunArgs& all = request.args();
  proto::RunMetadata own_metadata;
  const bool with_metadata = metadata != nullptr || all.options.full_trace || all.options.partition_graphs;
  if (with_metadata && metadata == nullptr) metadata = &own_metadata;
  std::vector<Tensor> fetched;
  RETURN_IF_ERROR(live_->session->Run(all.options, all.feeds, all.fetches, all.targets, &fetched, metadata));
  for (size_t i = 0; i < hooks_.size(); ++i) {
    const SessionRunValues values{request.Take(i + 1, fetched), all.options, metadata};
    RETURN_IF_ERROR(hooks_[i]->AfterRun(context, values));
  }
  stop_requested_ = stop_requested_ || context.stop_requested();
  if (outputs != nullptr) *outputs = request.Take(0, fetched);
  return OkStatus();
}

Status MonitoredSession::Close(Status why) {
  if (closed_) return errors::FailedPrecondition("Session is already closed.");
  const bool ended_well = why.ok() || absl::IsOutOfRange(why);
  Status status = ended_well ? OkStatus() : std::move(why);
  if (ended_well && live_ != nullptr) {
    for (const auto& hook : hooks_) Keep(&status, hook->End(*live_->session));
  }
  Status closed = CloseLive();
  if (StopAsked() && absl::IsCancelled(closed)) closed = OkStatus();  // a thread's step that was cancelled for it
  // The threads' error is often what made the last step fail.
  if (status.ok() || absl::IsCancelled(status)) {
    if (!closed.ok()) status = closed;
  }
  closed_ = true;
  if (status.ok() && job_ != nullptr) job_->TrainingEnded();
  return status;
}

}  // namespace millstream
