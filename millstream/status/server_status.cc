// SPDX-License-Identifier: Apache-2.0
#include "millstream/status/server_status.h"

#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/status/evaluation_message.h"

namespace millstream {

void ServerStatus::Attach(const ObservedServer& server) {
  server_ = server;
  TaskStatus::Parts parts;
  parts.worker = server.worker;
  parts.master = server.master;
  parts.reports = &reports_;
  parts.address = server.address;
  parts.job_done = server.job_done;
  task_ = std::make_unique<TaskStatus>(std::move(parts));
  evaluations_ = EvaluationResults::OfProcess().AddListener(
      [task = task_.get()](const EvaluationResult& result) { task->AddEvaluation(result); });
}

Status ServerStatus::Serve(const ClusterSpec& cluster) {
  const ServerOptions& options = *server_.options;
  if (options.status_port < 0) return OkStatus();
  StatusServer::Options page;
  page.address = options.status_address;
  page.port = options.status_port;
  page.access.loopback = IsLoopbackHost(options.status_address);
  page.access.token = options.token;
  page.access.insecure = options.insecure;
  page.access.task = options.task_name();
  if (const StatusOr<HostPort> own = ParseHostPort(server_.address); own.ok()) page.access.hosts = {own->host};
  page.cluster.cluster = cluster;
  page.cluster.channel = options.channel_options();
  page.cluster.own = task_.get();
  page.cluster.traces = &server_.master->traces();
  page.ready = [job_done = server_.job_done] { return !job_done(); };
  ASSIGN_OR_RETURN(page_, StatusServer::Start(std::move(page)));
  LogInfo(absl::StrCat(task_->task(), ": status page at ", url()));
  return OkStatus();
}

void ServerStatus::StopServing() {
  if (page_ != nullptr) page_->Stop();
}

void ServerStatus::Detach() {
  page_.reset();
  EvaluationResults::OfProcess().RemoveListener(evaluations_);
  task_.reset();
}

StatusOr<std::string> ServerStatus::Answer(const std::string& question) {
  if (!IsEvaluationMessage(question)) return task_->Answer(question);
  ASSIGN_OR_RETURN(const std::vector<EvaluationResult> results, ParseEvaluationMessage(question));
  for (const EvaluationResult& result : results) task_->AddEvaluation(result);
  return "";
}

std::string ServerStatus::url() const {
  if (page_ == nullptr) return "";
  std::string host = server_.options->status_address;
  if (host == "0.0.0.0" || host == "::") {
    // Everywhere: name the host as the cluster does.
    if (const StatusOr<HostPort> own = ParseHostPort(server_.address); own.ok()) host = own->host;
  }
  return absl::StrCat("http://", JoinHostPort(host, page_->port()), "/");
}

}  // namespace millstream
