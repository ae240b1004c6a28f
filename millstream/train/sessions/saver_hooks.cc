// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/saver_hooks.h"

#include "millstream/base/file.h"
#include "millstream/base/logging.h"
#include "millstream/proto/event.pb.h"
#include "millstream/train/saving/graph_text.h"

namespace millstream {

CheckpointSaverHook::CheckpointSaverHook(Options options)
    : options_(std::move(options)),
      save_path_(absl::StrCat(options_.checkpoint_dir, "/", options_.checkpoint_basename)),
      timer_(options_.every) {
  if (options_.background && options_.listeners.empty() && options_.scaffold != nullptr)
    options_.scaffold->saves_in_background = true;
}

StatusOr<Saver*> CheckpointSaverHook::TheSaver() const {
  Saver* saver = options_.saver != nullptr ? options_.saver.get() : options_.scaffold->saver.get();
  if (saver == nullptr) return errors::FailedPrecondition("The scaffold of a CheckpointSaverHook has no saver");
  return saver;
}

Status CheckpointSaverHook::Begin(const Scope& scope) {
  RETURN_IF_ERROR(timer_.Check());
  if ((options_.saver == nullptr) == (options_.scaffold == nullptr)) {
    return errors::InvalidArgument("Exactly one of saver and scaffold must be provided.");
  }
  if (options_.checkpoint_dir.empty()) return errors::InvalidArgument("A CheckpointSaverHook needs a folder");
  RETURN_IF_ERROR(MakeFolders(options_.checkpoint_dir));
  ASSIGN_OR_RETURN(writer_, FileWriter::Shared(options_.checkpoint_dir));
  ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "CheckpointSaverHook"));
  scope_ = scope;
  for (const auto& listener : options_.listeners) RETURN_IF_ERROR(listener->Begin());
  return OkStatus();
}

Status CheckpointSaverHook::WriteGraph() {
  if (options_.save_graph_def)
    RETURN_IF_ERROR(WriteGraphText(*scope_.graph(), options_.checkpoint_dir + "/graph.pbtxt"));
  ASSIGN_OR_RETURN(const Saver* saver, TheSaver());
  RETURN_IF_ERROR(writer_->AddGraph(*scope_.graph()));
  ASSIGN_OR_RETURN(std::string meta, saver->ExportMetaGraph());
  writer_->AddMetaGraph(std::move(meta));
  return OkStatus();
}

Status CheckpointSaverHook::AfterCreateSession(Session& session, Coordinator& coordinator) {
  coordinator_ = &coordinator;
  // The coordinator before has waited for its threads. What became of the save does not matter: its session was lost.
  if (Status lost = AwaitPending(); !lost.ok()) LogInfo(absl::StrCat("A checkpoint was abandoned: ", lost.ToString()));
  ASSIGN_OR_RETURN(const int64_t step, step_.Read(session));
  RETURN_IF_ERROR(WriteGraph());
  bool stop = false;
  RETURN_IF_ERROR(Save(session, step, &stop));
  timer_.Triggered(step);
  return OkStatus();
}

Status CheckpointSaverHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  args->fetches = {step_.tensor()};
  return OkStatus();
}

Status CheckpointSaverHook::AfterRun(SessionRunContext& context, const SessionRunValues& values) {
  ASSIGN_OR_RETURN(int64_t step, StepReader::ValueOf(values.results[0]));
  if (!timer_.ShouldTrigger(step + 1)) return OkStatus();
  ASSIGN_OR_RETURN(step, step_.Read(context.session()));
  if (!timer_.ShouldTrigger(step)) return OkStatus();
  timer_.Triggered(step);
  ASSIGN_OR_RETURN(Saver * saver, TheSaver());
  if (options_.background && options_.listeners.empty() && saver->can_keep_values()) {
    return SaveInBackground(*saver, context.session(), step);
  }
  bool stop = false;
  RETURN_IF_ERROR(Save(context.session(), step, &stop));
  if (stop) context.RequestStop();
  return OkStatus();
}

Status CheckpointSaverHook::End(Session& session) {
  RETURN_IF_ERROR(AwaitPending());
  ASSIGN_OR_RETURN(const int64_t step, step_.Read(session));
  bool stop = false;
  if (timer_.last_step() != step) RETURN_IF_ERROR(Save(session, step, &stop));
  for (const auto& listener : options_.listeners) RETURN_IF_ERROR(listener->End(session, step));
  return writer_->Flush();
}

Status CheckpointSaverHook::Save(Session& session, int64_t step, bool* stop) {
  LogInfo(absl::StrCat("Saving checkpoints for ", step, " into ", save_path_, "."));
  ASSIGN_OR_RETURN(Saver * saver, TheSaver());
  for (const auto& listener : options_.listeners) RETURN_IF_ERROR(listener->BeforeSave(session, step));
  SaveOptions options;
  options.global_step = step;
  ASSIGN_OR_RETURN(const std::string path, saver->Save(session, save_path_, options));
  NoteSaved(path, step);
  for (const auto& listener : options_.listeners) {
    bool wants_stop = false;
    RETURN_IF_ERROR(listener->AfterSave(session, step, &wants_stop));
    if (wants_stop) LogInfo("A CheckpointSaverListener requested that training be stopped.");
    *stop = *stop || wants_stop;
  }
  return OkStatus();
}

Status CheckpointSaverHook::SaveInBackground(Saver& saver, Session& session, int64_t step) {
  RETURN_IF_ERROR(AwaitPending());
  RETURN_IF_ERROR(saver.KeepValues(session));
  LogInfo(absl::StrCat("Saving checkpoints for ", step, " into ", save_path_, "."));
  {
    MutexLock lock(mu_);
    pending_ = true;
  }
  coordinator_->StartThread("background-save", [this, &saver, &session, step] {
    SaveOptions options;
    options.global_step = step;
    options.kept = true;
    const StatusOr<std::string> path = saver.Save(session, save_path_, options);
    if (path.ok()) NoteSaved(*path, step);
    MutexLock lock(mu_);
    pending_ = false;
    pending_error_ = path.status();
    saved_.NotifyAll();
    return path.status();
  });
  return OkStatus();
}

Status CheckpointSaverHook::AwaitPending() {
  MutexLock lock(mu_);
  while (pending_) saved_.Wait(mu_);
  return std::exchange(pending_error_, OkStatus());
}

void CheckpointSaverHook::NoteSaved(const std::string& path, int64_t step) {
  proto::SessionLog log;
  log.set_status(proto::SessionLog::CHECKPOINT);
  log.set_checkpoint_path(save_path_);
  writer_->AddSessionLog(log, step);
  if (options_.on_saved != nullptr) options_.on_saved(path, step);
}

Status SummarySaverHook::Begin(const Scope& scope) {
  RETURN_IF_ERROR(timer_.Check());
  if (static_cast<bool>(options_.summary_op) == (options_.scaffold != nullptr)) {
    return errors::InvalidArgument("Exactly one of scaffold or summary_op must be provided.");
  }
  if (writer_ == nullptr && !options_.output_dir.empty()) {
    ASSIGN_OR_RETURN(writer_, FileWriter::Shared(options_.output_dir));
  }
  next_step_.reset();
  ASSIGN_OR_RETURN(step_, StepReader::FindFor(scope, "SummarySaverHook"));
  return OkStatus();
}

Status SummarySaverHook::BeforeRun(SessionRunContext&, SessionRunArgs* args) {
  wanted_ = !next_step_.has_value() || timer_.ShouldTrigger(*next_step_);
  args->fetches = {step_.tensor()};
  const Output summary = options_.summary_op ? options_.summary_op : options_.scaffold->summary_op;
  if (wanted_ && summary) args->fetches.push_back(summary.name());
  return OkStatus();
}

Status SummarySaverHook::AfterRun(SessionRunContext& context, const SessionRunValues& values) {
  if (writer_ == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(int64_t step, StepReader::ValueOf(values.results[0]));
  ++step;
  const bool first = !next_step_.has_value();
  if (first || wanted_) {
    ASSIGN_OR_RETURN(step, step_.Read(context.session()));
  }
  if (first) {
    proto::SessionLog log;
    log.set_status(proto::SessionLog::START);
    writer_->AddSessionLog(log, step);
  }
  if (wanted_) {
    timer_.Triggered(step);
    if (values.results.size() > 1) {
      const Tensor& summary = values.results[1];
      if (summary.dtype() != DType::kString || summary.num_elements() != 1) {
        return errors::InvalidArgument("The summary op does not give a summary: ", summary.DebugString());
      }
      RETURN_IF_ERROR(writer_->AddSummary(summary.scalar<std::string>(), step));
    }
  }
  next_step_ = step + 1;
  return OkStatus();
}

Status SummarySaverHook::End(Session&) { return writer_ == nullptr ? OkStatus() : writer_->Flush(); }

}  // namespace millstream
