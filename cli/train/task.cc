// SPDX-License-Identifier: Apache-2.0
#include "cli/train/task.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/task_signals.h"
#include "millstream/launch/job_registration.h"
#include "millstream/proto/config.pb.h"
#include "millstream/status/start_server.h"

namespace millstream::cli {
namespace {

bool IsChief(const ServerOptions& server) {
  return server.job_name == "chief" || (server.job_name == "worker" && server.task_index == 0);
}

StatusOr<ServerOptions> MakeServerOptions(const TrainOptions& options) {
  ASSIGN_OR_RETURN(ServerOptions server, options.cluster.ServerFor(options.job_name, options.task_index));
  if (server.job_name != "ps" && server.job_name != "worker" && server.job_name != "chief") {
    return errors::InvalidArgument("--job_name ", server.job_name, ": tasks of train are ps, worker or chief");
  }
  if (options.threads > 0) {
    auto config = std::make_shared<proto::ConfigProto>();
    config->set_intra_op_parallelism_threads(options.threads);
    config->set_inter_op_parallelism_threads(options.threads);
    server.default_session_config = std::move(config);
  }
  if (IsChief(server) && options.status_port) server.status_port = *options.status_port;
  RETURN_IF_ERROR(server.Check());
  return server;
}

int NumWorkers(const ClusterSpec& cluster) {
  int count = 0;
  for (const ClusterSpec::Task& task : cluster.all_tasks()) count += task.job == "worker" || task.job == "chief";
  return count;
}

// Keeps other jobs from the log folder, unless the launcher of this task does.
StatusOr<std::unique_ptr<launch::HeldRecord>> HoldLogdir(const TrainOptions& options, const ServerOptions& server) {
  if (options.no_logdir || !IsChief(server)) return std::unique_ptr<launch::HeldRecord>();
  launch::JobRecord record = launch::NewJobRecord("", options.logdir, server.job_id);
  record.cluster = server.cluster.ToJson();
  const char* token_file = std::getenv("MILLSTREAM_TOKEN_FILE");
  record.token_file = !options.cluster.token_file.empty() ? options.cluster.token_file
                      : token_file != nullptr             ? token_file
                                                          : "";
  return launch::HoldFolder(record);
}

int RunPs(Server& server, const TaskSignals& signals) {
  AwaitEnd(server, signals);
  server.Stop();
  return 0;
}

int RunWorker(const TrainOptions& options, Server& server, const EventLog& log, const TaskSignals& signals) {
  std::atomic<bool> stop{false};
  server.SetOnStop([&](const std::string& reason) {
    stop = true;
    log.Note(absl::StrCat(kToldToStop, reason));
  });
  const SignalWatch watch(signals, [&](const char* name) { server.RequestStop(name); });
  const Status status = RunTrainingWorker(options, server, log, stop);
  server.Stop();
  return status.ok() ? 0 : log.Fail(status);
}

}  // namespace

void EventLog::Say(TrainEvent event) const {
  event.task = task_;
  const std::string line = json_ ? EventToJson(event) : EventToText(event);
  if (line.empty()) return;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void EventLog::Note(std::string text) const {
  TrainEvent event;
  event.kind = TrainEvent::Kind::kNote;
  event.text = std::move(text);
  Say(std::move(event));
}

int EventLog::Fail(const Status& status) const {
  if (!json_) return cli::Fail(status);
  TrainEvent event;
  event.kind = TrainEvent::Kind::kError;
  event.text = std::string(status.message());
  Say(std::move(event));
  return kFailed;
}

int RunTrainingTask(TrainOptions options) {
  const TaskSignals signals;
  StatusOr<ServerOptions> server_options = MakeServerOptions(options);
  if (!server_options.ok()) return FailFlags(server_options.status());
  const StatusOr<std::unique_ptr<launch::HeldRecord>> held = HoldLogdir(options, *server_options);
  if (!held.ok()) return Fail(held.status());
  StatusOr<std::unique_ptr<Server>> server = StartServer(*server_options);
  if (!server.ok()) return Fail(server.status());
  options.workers = NumWorkers(server_options->cluster);
  const EventLog log(absl::StrCat(server_options->job_name, ":", server_options->task_index), options.json);
  TrainEvent started;
  started.kind = TrainEvent::Kind::kStarted;
  started.pid = getpid();
  started.target = (*server)->target();
  started.status_page = (*server)->status_url();
  log.Say(std::move(started));
  return server_options->job_name == "ps" ? RunPs(**server, signals) : RunWorker(options, **server, log, signals);
}

}  // namespace millstream::cli
