// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/ssh.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "millstream/launch/agent.h"
#include "millstream/launch/job_registration.h"
#include "millstream/launch/job_token.h"

namespace millstream::launch {
namespace {

struct Host {
  std::string login;    // what ssh takes
  std::string address;  // what the tasks take
  int tasks = 0;
  std::vector<int> ports = {};
  Status status = OkStatus();
};

StatusOr<std::vector<Host>> ParseHosts(const std::vector<std::string>& names) {
  std::vector<Host> hosts;
  for (const std::string& name : names) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits('=', 1));
    Host host = {parts.first, parts.second};
    if (host.address.empty()) host.address = host.login.substr(host.login.rfind('@') + 1);
    // A name that begins with a dash would be an option of ssh.
    if (host.address.empty() || absl::StartsWith(host.login, "-"))
      return errors::InvalidArgument("--hosts: '", name, "' is no host");
    if (absl::StrContains(host.address, ':')) host.address = absl::StrCat("[", host.address, "]");
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) return errors::InvalidArgument("--hosts: no host");
  return hosts;
}

std::string ThisProgram() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<size_t>(size)) : "millstream";
}

std::string ThisFolder() {
  std::array<char, PATH_MAX> path;
  return getcwd(path.data(), path.size()) == nullptr ? "" : path.data();
}

std::string ShellQuoted(absl::string_view word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::vector<std::string> SshCommand(const SshOptions& ssh, const Host& host, absl::string_view agent) {
  std::vector<std::string> command = ssh.ssh;
  const auto seconds = std::max<int64_t>(1, ssh.connect_timeout.count() / 1000);
  for (const std::string& option : {std::string("BatchMode=yes"), absl::StrCat("ConnectTimeout=", seconds),
                                    std::string("ServerAliveInterval=5"), std::string("ServerAliveCountMax=3")}) {
    command.insert(command.end(), {"-o", option});
  }
  const std::string program = ssh.program.empty() ? ThisProgram() : ssh.program;
  command.insert(command.end(), {"-T", host.login, absl::StrCat("exec ", ShellQuoted(program), " agent ", agent)});
  return command;
}

// The last line that says something.
std::string LastLine(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(absl::StripAsciiWhitespace(lines.back()));
}

void AskForPorts(const SshOptions& ssh, Host* host) {
  ProcessSpec spec;
  spec.name = host->login;
  spec.command = SshCommand(ssh, *host, absl::StrCat("--ports ", host->tasks));
  StatusOr<Captured> answer = RunToEnd(spec, std::chrono::steady_clock::now() + ssh.connect_timeout);
  if (!answer.ok()) {
    host->status = answer.status();
  } else if (answer->exit_code == -1) {
    host->status = errors::DeadlineExceeded("no answer within ", ssh.connect_timeout.count() / 1000.0, " s");
  } else if (answer->exit_code != 0) {
    const std::string why = LastLine(answer->err);
    host->status = errors::Unavailable(why.empty() ? absl::StrCat("ssh ends with exit code ", answer->exit_code) : why);
    if (answer->exit_code == 126 || answer->exit_code == 127) {
      host->status = errors::Unavailable(why, " (where is millstream there? Give --remote_program)");
    }
  } else {
    StatusOr<std::vector<int>> ports = ParsePorts(answer->out);
    host->status = ports.status();
    if (ports.ok() && static_cast<int>(ports->size()) < host->tasks)
      host->status = errors::Unavailable("has too few free ports");
    if (ports.ok()) host->ports = *std::move(ports);
  }
}

Status AskAll(const SshOptions& ssh, std::vector<Host>* hosts) {
  std::vector<std::thread> threads;
  for (Host& host : *hosts) {
    if (host.tasks > 0) threads.emplace_back([&ssh, &host] { AskForPorts(ssh, &host); });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> problems;
  for (const Host& host : *hosts) {
    if (!host.status.ok()) problems.push_back(absl::StrCat("\n  ", host.login, ": ", host.status.message()));
  }
  if (problems.empty()) return OkStatus();
  return errors::Unavailable(problems.size(), " of ", hosts->size(),
                             " hosts cannot be used:", absl::StrJoin(problems, ""));
}

}  // namespace

StatusOr<GroupResult> RunOverSsh(const JobOptions& options, const SshOptions& ssh, GroupOptions group) {
  RETURN_IF_ERROR(CheckJob(options));
  ASSIGN_OR_RETURN(std::vector<Host> hosts, ParseHosts(ssh.hosts));
  const std::vector<JobTask> tasks = TasksOf(options);
  const auto host_of = [&](const JobTask& task) -> Host& {
    return hosts[static_cast<size_t>(task.index) % hosts.size()];
  };
  for (const JobTask& task : tasks) ++host_of(task).tasks;
  RETURN_IF_ERROR(AskAll(ssh, &hosts));
  std::vector<std::string> addresses;
  for (const JobTask& task : tasks) {
    Host& host = host_of(task);
    addresses.push_back(absl::StrCat(host.address, ":", host.ports.back()));
    host.ports.pop_back();
  }
  ASSIGN_OR_RETURN(const ClusterSpec cluster, ClusterOf(options, addresses));
  ASSIGN_OR_RETURN(const std::string token, TokenOf(options));
  const auto environment = JobEnvironment(options, JobIdOf(options));
  if (options.registration != nullptr) {
    std::string token_path;
    if (!token.empty()) {
      ASSIGN_OR_RETURN(const TokenFile file, WriteTokenFile(token));  // for commands on this host
      group.scratch_folder = file.folder;
      token_path = file.path;
    }
    RETURN_IF_ERROR(options.registration->SetTasks(cluster, token_path));
  }
  std::vector<ProcessSpec> processes;
  for (const JobTask& task : tasks) {
    const Host& host = host_of(task);
    AgentRequest request;
    request.process = ProcessOf(options, cluster, task);
    request.process.environment.insert(request.process.environment.end(), environment.begin(), environment.end());
    request.process.folder = ssh.folder.empty() ? ThisFolder() : ssh.folder;
    request.token = token;
    request.grace = group.grace;
    ProcessSpec& process = processes.emplace_back();
    process.name = task.name();
    process.command = SshCommand(ssh, host, "");
    process.host = host.login;
    process.input = request.ToLine();
    process.max_restarts = request.process.max_restarts;
    process.service = request.process.service;
  }
  group.grace += std::chrono::seconds(2);  // so that agents kill before connections are cut
  ProcessGroup running(std::move(processes), std::move(group));
  running.Note(absl::StrCat("starting ", cluster.ToJson(), " over ssh"));
  return running.Run();
}

}  // namespace millstream::launch
