// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/supervisor.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_format.h"
#include "millstream/base/file.h"
#include "millstream/base/logging.h"
#include "millstream/proto/event.pb.h"
#include "millstream/runtime/local_server.h"
#include "millstream/train/input/queue_runner.h"
#include "millstream/train/saving/graph_text.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

proto::SessionLog SessionLogOf(proto::SessionLog::SessionStatus status, const std::string& checkpoint_path = "") {
  proto::SessionLog log;
  log.set_status(status);
  log.set_checkpoint_path(checkpoint_path);
  return log;
}

}  // namespace

StatusOr<std::unique_ptr<Supervisor>> Supervisor::Make(const Scope& scope, SupervisorOptions options) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor(scope, std::move(options)));
  RETURN_IF_ERROR(supervisor->Finalize());
  return supervisor;
}

Status Supervisor::Finalize() {
  RETURN_IF_ERROR(scope_.status());
  Scaffold& scaffold = options_.scaffold;
  if (scaffold.saver == nullptr) {
    SaverOptions saver;
    saver.allow_empty = true;
    ASSIGN_OR_RETURN(scaffold.saver, Saver::Make(scope_, saver));
  }
  RETURN_IF_ERROR(scaffold.Finalize(scope_));
  ASSIGN_OR_RETURN(step_, StepReader::Find(scope_));
  if (!options_.is_chief) return OkStatus();
  writer_ = options_.summary_writer;
  if (options_.logdir.empty()) return OkStatus();
  RETURN_IF_ERROR(MakeFolders(options_.logdir));
  save_path_ = absl::StrCat(options_.logdir, "/", options_.checkpoint_basename);
  if (writer_ == nullptr) {
    ASSIGN_OR_RETURN(writer_, FileWriter::Make(options_.logdir));
  }
  return OkStatus();
}

Supervisor::~Supervisor() {
  if (session_ != nullptr) Stop().IgnoreError();
}

StatusOr<std::unique_ptr<Session>> Supervisor::MakeSession(const SessionOptions& config,
                                                           const PrepareOptions& options) {
  const Scaffold& scaffold = options_.scaffold;
  SessionManager::Options settings;
  settings.ready_op = scaffold.ready_op;
  settings.ready_for_local_init_op = scaffold.ready_for_local_init_op;
  settings.uninitialized_op = scaffold.uninitialized_op;
  settings.local_init_op = scaffold.local_init_op;
  settings.local_init_feeds = scaffold.local_init_feeds;
  settings.recovery_wait_secs = options_.recovery_wait_secs;
  SessionManager manager(scope_, settings);
  if (!options_.is_chief) return manager.WaitForSession(config, options.max_wait_secs);
  SessionManager::Checkpoint checkpoint;
  checkpoint.saver = scaffold.saver;
  checkpoint.folder = options_.logdir;
  checkpoint.wait = options.wait_for_checkpoint;
  checkpoint.max_wait_secs = options.max_wait_secs;
  return manager.PrepareSession(config, {scaffold.init_op, scaffold.init_feeds, scaffold.init_fn}, checkpoint);
}

StatusOr<Session*> Supervisor::PrepareOrWaitForSession(const SessionOptions& config, const PrepareOptions& options) {
  CloseSession();
  coordinator_->ClearStop();
  if (writer_ != nullptr) writer_->Reopen();
  job_ = JobOf(config);
  if (job_ != nullptr) job_->TrainingBegins();
  StatusOr<std::unique_ptr<Session>> session = MakeSession(config, options);
  if (!session.ok() && job_ != nullptr && (job_->JobIsDone() || job_->stop().IsCancelled())) {
    LogInfo(absl::StrCat("There is nothing left to do: ", session.status().message()));
    coordinator_->RequestStop();
    return errors::OutOfRange(session.status().message());
  }
  ASSIGN_OR_RETURN(session_, std::move(session));
  EndWhenToldToStop();
  if (options_.is_chief) RETURN_IF_ERROR(WriteGraph());
  if (options.start_standard_services) {
    if (options_.is_chief) {
      LogInfo("Starting standard services.");
      RETURN_IF_ERROR(StartStandardServices());
    }
    LogInfo("Starting queue runners.");
    StartQueueRunners();
  }
  return session_.get();
}

// Threads see it at the coordinator, whose stop ends the program's loop.
void Supervisor::EndWhenToldToStop() {
  if (job_ == nullptr) return;
  stop_watched_ = job_->stop().Register([this] { coordinator_->RequestStop(); }, &stop_token_);
  if (!stop_watched_) coordinator_->RequestStop();
}

Status Supervisor::ManagedSession(const SessionOptions& config, const std::function<Status(Session&)>& body) {
  const StatusOr<Session*> session = PrepareOrWaitForSession(config);
  if (Status status = session.ok() ? body(**session) : session.status(); !status.ok()) RequestStop(std::move(status));
  return Stop();
}

Status Supervisor::WriteGraph() {
  if (options_.logdir.empty()) return OkStatus();
  RETURN_IF_ERROR(WriteGraphText(*scope_.graph(), options_.logdir + "/graph.pbtxt"));
  if (writer_ == nullptr || graph_written_) return OkStatus();
  graph_written_ = true;
  return writer_->AddGraph(*scope_.graph());
}

Status Supervisor::StartStandardServices() {
  if (!options_.is_chief) {
    return errors::FailedPrecondition(
        "Only chief supervisor can start standard services. Because only chief supervisors can write events.");
  }
  if (options_.logdir.empty()) {
    LogWarning("Standard services need a 'logdir'");
    return OkStatus();
  }
  int64_t step = 0;
  if (step_) {
    ASSIGN_OR_RETURN(step, step_.Read(*session_));
    if (writer_ != nullptr) writer_->AddSessionLog(SessionLogOf(proto::SessionLog::START), step);
  }
  if (options_.save_summaries_secs > 0 && writer_ != nullptr) {
    if (options_.save_summaries && options_.scaffold.summary_op) {
      coordinator_->StartLoop("summaries", options_.save_summaries_secs, [this] { return SaveSummary(); });
    }
    if (step_) StartStepCounter(step);
  }
  if (options_.save_model_secs > 0) {
    coordinator_->StartLoop("checkpoints", options_.save_model_secs, [this] { return SaveModel(); });
  }
  return OkStatus();
}

void Supervisor::StartQueueRunners() { millstream::StartQueueRunners(scope_, *session_, *coordinator_); }

void Supervisor::Loop(double interval_secs, std::function<Status()> body) {
  coordinator_->StartLoop("loop", interval_secs, std::move(body));
}

Status Supervisor::SaveSummary() {
  std::vector<std::string> fetches = {options_.scaffold.summary_op.name()};
  if (step_) fetches.push_back(step_.tensor());
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session_->Run({}, fetches, {}, &out));
  std::optional<int64_t> step;
  if (step_) {
    ASSIGN_OR_RETURN(step, StepReader::ValueOf(out[1]));
  }
  return writer_->AddSummary(out[0].scalar<std::string>(), step);
}

void Supervisor::StartStepCounter(int64_t step) {
  coordinator_->StartLoop("step counter", options_.save_summaries_secs,
                          [this, last_step = step, last_time = Clock::now()]() mutable -> Status {
                            ASSIGN_OR_RETURN(const int64_t now_step, step_.Read(*session_));
                            const double elapsed = std::chrono::duration<double>(Clock::now() - last_time).count();
                            const double rate = elapsed > 0 ? static_cast<double>(now_step - last_step) / elapsed : 0;
                            last_step = now_step;
                            last_time = Clock::now();
                            const std::string tag = step_.variable() + "/sec";
                            writer_->AddScalar(tag, static_cast<float>(rate), now_step);
                            LogInfo(absl::StrFormat("%s: %g", tag, rate));
                            return OkStatus();
                          });
}

Status Supervisor::SaveModel() {
  LogInfo(absl::StrCat("Saving checkpoint to path ", save_path_));
  SaveOptions save;
  if (step_) {
    ASSIGN_OR_RETURN(save.global_step, step_.Read(*session_));
  }
  RETURN_IF_ERROR(options_.scaffold.saver->Save(*session_, save_path_, save).status());
  if (writer_ != nullptr && step_) {
    writer_->AddSessionLog(SessionLogOf(proto::SessionLog::CHECKPOINT, save_path_), save.global_step);
  }
  return OkStatus();
}

void Supervisor::CloseSession() {
  if (session_ == nullptr) return;
  if (std::exchange(stop_watched_, false)) job_->stop().Deregister(stop_token_);
  coordinator_->RequestStop();
  session_->Close().IgnoreError();  // steps of threads that hang end with it
  coordinator_ = std::make_unique<Coordinator>();
  coordinator_->RequestStop();
  session_.reset();
}

Status Supervisor::Stop(bool close_summary_writer) {
  coordinator_->RequestStop();
  Status status = coordinator_->Join({options_.stop_grace_secs});
  const bool told = job_ != nullptr && job_->stop().IsCancelled();
  if (told && absl::IsCancelled(status)) status = OkStatus();  // a thread's step that was cancelled for it
  if (told && session_ != nullptr && !save_path_.empty()) {
    if (Status saved = SaveModel(); status.ok()) status = std::move(saved);
  }
  if (close_summary_writer && writer_ != nullptr) {
    writer_->AddSessionLog(SessionLogOf(proto::SessionLog::STOP));
    writer_->Close().IgnoreError();  // it has been reported
    graph_written_ = false;
  }
  CloseSession();
  if (status.ok() && job_ != nullptr) job_->TrainingEnded();
  return status;
}

Status Supervisor::SummaryComputed(absl::string_view summary, std::optional<int64_t> global_step) {
  if (writer_ == nullptr) return errors::FailedPrecondition("Writing a summary requires a summary writer.");
  if (!global_step.has_value() && step_ && session_ != nullptr) {
    ASSIGN_OR_RETURN(global_step, step_.Read(*session_));
  }
  return writer_->AddSummary(summary, global_step);
}

}  // namespace millstream
