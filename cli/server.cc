// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/server.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/cluster_flags.h"
#include "cli/commands.h"
#include "cli/task_signals.h"

namespace millstream::cli {
namespace {

struct ServerFlags {
  ClusterFlags cluster;
  std::string job_name, bind_address, links;
  int task_index = -1;
  int port = -1;
  int64_t deadline_ms = 0;
  bool insecure = false, status_lines = false;
};

StatusOr<ServerOptions> MakeOptions(const ServerFlags& flags) {
  ASSIGN_OR_RETURN(ServerOptions options, flags.cluster.ServerFor(flags.job_name, flags.task_index));
  options.port = flags.port;
  options.bind_address = flags.bind_address;
  if (flags.insecure) options.insecure = true;
  if (flags.deadline_ms > 0) options.deadline = std::chrono::milliseconds(flags.deadline_ms);
  if (!flags.links.empty()) RETURN_IF_ERROR(options.SetLinks(flags.links));
  RETURN_IF_ERROR(options.Check());
  return options;
}

// One JSON object per line, for programs that start servers.
void Say(const ServerFlags& flags, const Server& server, const char* event, const std::string& why) {
  if (!flags.status_lines) return;
  nlohmann::ordered_json line;
  line["event"] = event;
  line["task"] = server.task();
  if (std::string(event) == "started") line["target"] = server.target();
  line["pid"] = static_cast<int64_t>(getpid());
  if (!why.empty()) line["why"] = why;
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

int RunServer(const ServerFlags& flags) {
  const TaskSignals signals;
  StatusOr<ServerOptions> options = MakeOptions(flags);
  if (!options.ok()) return Fail(options.status());
  StatusOr<std::unique_ptr<Server>> server = Server::Start(*options);
  if (!server.ok()) return Fail(server.status());
  std::printf("Started server with target: %s\n", (*server)->target().c_str());
  std::fflush(stdout);
  Say(flags, **server, "started", "");
  const std::string why = AwaitEnd(**server, signals);
  Say(flags, **server, "stopped", why);
  (*server)->Stop();
  return 0;
}

}  // namespace

void AddServerCommand(CLI::App& app, int* status) {
  auto* command = app.add_subcommand("server", "Run one task of a cluster until SIGTERM, SIGINT or 'millstream stop'.\n"
                                               "Example: millstream server --ps_hosts=localhost:2222 --worker_hosts=localhost:2223 "
                                               "--job_name=ps --task_index=0");
  auto flags = std::make_shared<ServerFlags>();
  flags->cluster.AddTo(*command);
  command->add_option("--job_name", flags->job_name, "job of this task (default: from TF_CONFIG)");
  command->add_option("--task_index", flags->task_index, "its index in the job (default: 0)")->check(CLI::NonNegativeNumber);
  command->add_option("--port", flags->port, "port to listen on, in place of the one in the cluster; 0: any")->check(CLI::Range(0, 65535));
  command->add_option("--bind_address", flags->bind_address, "host to listen on (default: loopback if the task's address is, else all)");
  command->add_option("--deadline_ms", flags->deadline_ms, "how long a live task may owe an answer (default: 30000)")->check(CLI::PositiveNumber);
  command->add_option("--links", flags->links, "links that may be used: shm,tcp,grpc (default: all)");
  command->add_flag("--insecure", flags->insecure, "let everybody connect who can reach this host");
  command->add_flag("--status", flags->status_lines, "print what happens as JSON, one object per line");
  command->callback([flags, status] { *status = RunServer(*flags); });
}

}  // namespace millstream::cli
