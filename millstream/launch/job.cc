// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/job.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "millstream/base/random.h"
#include "millstream/distributed/server_options.h"
#include "millstream/launch/job_registration.h"
#include "millstream/launch/job_token.h"

namespace millstream::launch {
namespace {

constexpr int kMostTasks = 2000;

}  // namespace

Status CheckJob(const JobOptions& options) {
  if (options.command.empty()) {
    return errors::InvalidArgument(
        "which program? Give it after --, e.g. millstream launch --ps 1 --workers 2 -- python train.py");
  }
  if (options.ps < 0 || options.workers < 0) return errors::InvalidArgument("the number of tasks cannot be negative");
  if (options.workers == 0 && !options.chief)
    return errors::InvalidArgument("a job needs at least one worker (--workers)");
  if (options.ps > kMostTasks || options.workers > kMostTasks || options.ps + options.workers > kMostTasks) {
    return errors::InvalidArgument(options.ps, " ps and ", options.workers, " workers are more than the ", kMostTasks,
                                   " tasks a job may have");
  }
  if (options.max_restarts < 0) return errors::InvalidArgument("--max_restarts cannot be negative");
  return OkStatus();
}

std::vector<JobTask> TasksOf(const JobOptions& options) {
  std::vector<JobTask> tasks;
  if (options.chief) tasks.push_back({"chief", 0});
  for (int i = 0; i < options.ps; ++i) tasks.push_back({"ps", i});
  for (int i = 0; i < options.workers; ++i) tasks.push_back({"worker", i});
  return tasks;
}

StatusOr<ClusterSpec> ClusterOf(const JobOptions& options, const std::vector<std::string>& addresses) {
  const std::vector<JobTask> tasks = TasksOf(options);
  if (tasks.size() != addresses.size())
    return errors::Internal(tasks.size(), " tasks, ", addresses.size(), " addresses");
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (size_t i = 0; i < tasks.size(); ++i) jobs[tasks[i].job][tasks[i].index] = addresses[i];
  return ClusterSpec::Make(std::move(jobs));
}

std::vector<std::string> TaskFlags(const ClusterSpec& cluster, const JobTask& task) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const ClusterSpec::Task& other : cluster.all_tasks()) hosts[other.job].push_back(other.address);
  std::vector<std::string> flags;
  if (hosts.size() == 1 && hosts.contains("worker")) return flags;
  for (const auto& [job, addresses] : hosts)
    flags.push_back(absl::StrCat("--", job, "_hosts=", absl::StrJoin(addresses, ",")));
  flags.push_back(absl::StrCat("--job_name=", task.job));
  flags.push_back(absl::StrCat("--task_index=", task.index));
  return flags;
}

std::string TfConfigOf(const ClusterSpec& cluster, const JobTask& task) {
  nlohmann::ordered_json config;
  config["cluster"] = nlohmann::ordered_json::parse(cluster.ToJson());
  config["task"] = {{"type", task.job}, {"index", task.index}};
  return config.dump();
}

ProcessSpec ProcessOf(const JobOptions& options, const ClusterSpec& cluster, const JobTask& task) {
  ProcessSpec process;
  process.name = task.name();
  process.command = options.command;
  if (options.pass_flags) {
    for (std::string& flag : TaskFlags(cluster, task)) process.command.push_back(std::move(flag));
  }
  process.environment.emplace_back("TF_CONFIG", TfConfigOf(cluster, task));
  // Python shows its lines when it writes them, as on a terminal.
  process.environment.emplace_back("PYTHONUNBUFFERED", "1");
  // One page shows the whole cluster, and tasks of one host cannot share a port: what the launcher was told is for one
  // of them.
  const bool first = task.index == 0 && task.job == (cluster.Has("chief", 0) ? "chief" : "worker");
  const bool page = first && options.status_port >= 0;
  process.environment.emplace_back("MILLSTREAM_STATUS_PORT", page ? absl::StrCat(options.status_port) : "");
  process.max_restarts = options.max_restarts;
  process.service = task.job == "ps";
  return process;
}

std::vector<std::pair<std::string, std::string>> JobEnvironment(const JobOptions& options, const std::string& job_id) {
  std::vector<std::pair<std::string, std::string>> environment = {{"MILLSTREAM_JOB_ID", job_id}};
  if (options.insecure) environment.emplace_back("MILLSTREAM_INSECURE", "1");
  if (!options.file_root.empty()) environment.emplace_back("MILLSTREAM_FILE_ROOT", options.file_root);
  return environment;
}

std::string JobIdOf(const JobOptions& options) {
  return options.registration == nullptr ? NewJobId() : options.registration->record().job_id;
}

std::string NewJobId() { return absl::StrCat(absl::Hex(RandomNumber())); }

StatusOr<std::string> TokenOf(const JobOptions& options) {
  if (options.insecure) return "";
  if (!options.token_file.empty()) return ReadTokenFile(options.token_file);
  const char* file = std::getenv("MILLSTREAM_TOKEN_FILE");
  if (file != nullptr && *file != 0) return ReadTokenFile(file);
  return MakeToken();
}

StatusOr<std::vector<ProcessSpec>> ProcessesOf(const JobOptions& options, const ClusterSpec& cluster,
                                               const std::vector<JobTask>& tasks, const std::string& token,
                                               const std::string& job_id, GroupOptions* group) {
  auto environment = JobEnvironment(options, job_id);
  if (!token.empty()) {
    ASSIGN_OR_RETURN(const TokenFile file, WriteTokenFile(token));
    group->scratch_folder = file.folder;
    environment.emplace_back("MILLSTREAM_TOKEN_FILE", file.path);
  }
  std::vector<ProcessSpec> processes;
  for (const JobTask& task : tasks) {
    processes.push_back(ProcessOf(options, cluster, task));
    auto& own = processes.back().environment;
    own.insert(own.end(), environment.begin(), environment.end());
  }
  return processes;
}

StatusOr<LocalJob> PrepareLocalJob(const JobOptions& options, GroupOptions* group) {
  RETURN_IF_ERROR(CheckJob(options));
  const std::vector<JobTask> tasks = TasksOf(options);
  ASSIGN_OR_RETURN(FreePorts free, FreePorts::Reserve(static_cast<int>(tasks.size())));
  std::vector<std::string> addresses;
  for (int port : free.ports()) addresses.push_back(absl::StrCat("localhost:", port));
  ASSIGN_OR_RETURN(const ClusterSpec cluster, ClusterOf(options, addresses));
  ASSIGN_OR_RETURN(const std::string token, TokenOf(options));
  ASSIGN_OR_RETURN(std::vector<ProcessSpec> processes,
                   ProcessesOf(options, cluster, tasks, token, JobIdOf(options), group));
  const std::string token_path = group->scratch_folder.empty() ? "" : absl::StrCat(group->scratch_folder, "/token");
  if (options.registration != nullptr) RETURN_IF_ERROR(options.registration->SetTasks(cluster, token_path));
  const std::string where = token_path.empty() ? "" : absl::StrCat(", token in ", token_path);
  return LocalJob{std::move(free), std::move(processes), absl::StrCat("starting ", cluster.ToJson(), where)};
}

StatusOr<GroupResult> RunLocally(const JobOptions& options, GroupOptions group) {
  ASSIGN_OR_RETURN(LocalJob job, PrepareLocalJob(options, &group));
  ProcessGroup running(std::move(job.processes), std::move(group));
  running.Note(job.starting);
  return running.Run();
}

}  // namespace millstream::launch
