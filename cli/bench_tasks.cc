// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_tasks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "millstream/launch/free_ports.h"
#include "millstream/status/start_server.h"

namespace millstream::cli {

BenchTasks::~BenchTasks() {
  server_.reset();
  for (const launch::Child& child : children_) kill(child.pid, SIGKILL);
  for (const launch::Child& child : children_) {
    waitpid(child.pid, nullptr, 0);
    close(child.out);
    close(child.err);
  }
}

Status BenchTasks::StartChild(const ServerOptions& options, const std::string& job, int task,
                              const std::string& links) {
  launch::ProcessSpec spec;
  spec.name = absl::StrCat(job, ":", task);
  spec.command = {"/proc/self/exe", "server", "--cluster",    options.cluster.ToJson(),
                  "--job_name",     job,      "--task_index", absl::StrCat(task)};
  if (!links.empty()) spec.command.insert(spec.command.end(), {"--links", links});
  ASSIGN_OR_RETURN(const launch::Child child, launch::StartChild(spec));
  children_.push_back(child);
  return OkStatus();
}

Status BenchTasks::Start(const std::map<std::string, int>& jobs, const std::string& own_job, const std::string& links) {
  int count = 0;
  for (const auto& [job, tasks] : jobs) count += tasks;
  ASSIGN_OR_RETURN(const launch::FreePorts free, launch::FreePorts::Reserve(count));
  std::map<std::string, ClusterSpec::Tasks> addresses;
  for (const auto& [job, tasks] : jobs) {
    for (int i = 0; i < tasks; ++i) addresses[job][i] = absl::StrCat("127.0.0.1:", free.ports()[--count]);
  }
  ServerOptions options;
  ASSIGN_OR_RETURN(options.cluster, ClusterSpec::Make(addresses));
  options.job_name = own_job;
  if (!links.empty()) RETURN_IF_ERROR(options.SetLinks(links));
  for (const auto& [job, tasks] : jobs) {
    for (int i = job == own_job ? 1 : 0; i < tasks; ++i) RETURN_IF_ERROR(StartChild(options, job, i, links));
  }
  ASSIGN_OR_RETURN(server_, StartServer(options));
  return OkStatus();
}

StatusOr<std::unique_ptr<Session>> BenchTasks::NewSession(const Graph& graph) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, server_->NewSession({}));
  RETURN_IF_ERROR(session->Extend(graph));
  return session;
}

}  // namespace millstream::cli
