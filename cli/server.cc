// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "cli/number_checks.h"
#include "cli/task_signals.h"
#include "millstream/proto/config.pb.h"
#include "millstream/status/start_server.h"
#include "millstream/tensor/allocator.h"

namespace millstream::cli {
namespace {

struct ServerFlags {
  ClusterFlags cluster;
  std::string job_name, bind_address, links, status_address;
  std::vector<std::string> file_roots;
  int task_index = -1, cpu_devices = 1;
  int port = -1, status_port = -1;
  int64_t deadline_ms = 0, max_tensor_bytes = 0, max_memory_bytes = 0;
  int max_message_bytes = 0;
  bool insecure = false, status_lines = false;
};

void SetCpuDevices(int count, ServerOptions* options) {
  auto config = std::make_shared<proto::ConfigProto>();
  if (options->default_session_config != nullptr) *config = *options->default_session_config;
  (*config->mutable_device_count())["CPU"] = count;
  options->default_session_config = std::move(config);
}

StatusOr<ServerOptions> MakeOptions(const ServerFlags& flags) {
  ASSIGN_OR_RETURN(ServerOptions options, flags.cluster.ServerFor(flags.job_name, flags.task_index));
  options.port = flags.port;
  options.bind_address = flags.bind_address;
  if (!flags.file_roots.empty()) options.file_roots = flags.file_roots;
  if (flags.insecure) options.insecure = true;
  if (flags.status_port >= 0) options.status_port = flags.status_port;
  if (!flags.status_address.empty()) options.status_address = flags.status_address;
  if (flags.deadline_ms > 0) options.deadline = std::chrono::milliseconds(flags.deadline_ms);
  if (flags.max_message_bytes > 0) options.max_message_bytes = flags.max_message_bytes;
  if (flags.max_tensor_bytes > 0) options.max_tensor_bytes = flags.max_tensor_bytes;
  if (flags.cpu_devices > 1) SetCpuDevices(flags.cpu_devices, &options);
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
  if (std::string(event) == "started") {
    line["target"] = server.target();
    if (!server.status_url().empty()) line["status_url"] = server.status_url();
  }
  line["pid"] = static_cast<int64_t>(getpid());
  if (!why.empty()) line["why"] = why;
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

int RunServer(const ServerFlags& flags) {
  const TaskSignals signals;
  if (flags.max_memory_bytes > 0) SetHostMemoryLimit(flags.max_memory_bytes);
  StatusOr<ServerOptions> options = MakeOptions(flags);
  if (!options.ok()) return FailFlags(options.status());
  StatusOr<std::unique_ptr<Server>> server = StartServer(*options);
  if (!server.ok()) return Fail(server.status());
  std::printf("Started server with target: %s\n", (*server)->target().c_str());
  if (const std::string url = (*server)->status_url(); !url.empty()) std::printf("Status page: %s\n", url.c_str());
  std::fflush(stdout);
  Say(flags, **server, "started", "");
  const std::string why = AwaitEnd(**server, signals);
  Say(flags, **server, "stopped", why);
  const EndLimit limit(std::chrono::seconds(10));
  (*server)->Stop();
  return 0;
}

Command::Run AddServerFlags(CLI::App& app) {
  auto flags = std::make_shared<ServerFlags>();
  flags->cluster.AddTo(app);
  app.add_option("--job_name", flags->job_name, "job of this task (default: from TF_CONFIG)");
  app.add_option("--task_index", flags->task_index, "its index in the job (default: 0)")->check(ZeroOrAbove());
  app.add_option("--port", flags->port, "port to listen on, in place of the one in the cluster; 0: any")
      ->check(CLI::Range(0, 65535));
  app.add_option("--bind_address", flags->bind_address,
                 "host to listen on (default: loopback if the task's address is, else all)");
  app.add_option("--cpu_devices", flags->cpu_devices, "CPU devices that this task has (default: 1)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--deadline_ms", flags->deadline_ms, "response timeout of a live task in ms (default: 30000)")
      ->check(AboveZero());
  app.add_option("--links", flags->links, "links that may be used: shm,tcp,grpc (default: all)");
  app.add_option("--file_root", flags->file_roots,
                 "folder in which graphs may read and write files; may be repeated (default: MILLSTREAM_FILE_ROOT,\n"
                 "else everywhere on loopback and the current folder on other addresses)");
  app.add_option("--max_message_bytes", flags->max_message_bytes, "largest request that is taken (default: 2 GB)")
      ->check(AboveZero());
  app.add_option("--max_memory_bytes", flags->max_memory_bytes,
                 "memory that this process may use; more is ResourceExhausted (default: 90 % of what the machine or\n"
                 "the cgroup has)")
      ->envname("MILLSTREAM_MAX_MEMORY_BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->check(AboveZero());
  app.add_option("--max_tensor_bytes", flags->max_tensor_bytes,
                 "largest tensor that is taken from another task (default: 64 GB)")
      ->check(AboveZero());
  app.add_option("--status_port", flags->status_port,
                 "serve the status page on this port; 0: any (default: MILLSTREAM_STATUS_PORT, else none)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--status_address", flags->status_address,
                 "host to serve it on (default: 127.0.0.1); other addresses than loopback require the job token");
  app.add_flag("--insecure", flags->insecure, "accept connections from anyone who can reach this host");
  app.add_flag("--status", flags->status_lines, "print what happens as JSON, one object per line");
  return [flags] { return RunServer(*flags); };
}

const Registration<Command> kServerCommand({
    .name = "server",
    .group = Command::Group::kClusters,
    .help = "Run one task of a cluster until SIGTERM, SIGINT or 'millstream stop'.\n"
            "Example: millstream server --ps_hosts=localhost:2222 --worker_hosts=localhost:2223 --job_name=ps "
            "--task_index=0",
    .add_flags = AddServerFlags,
});

}  // namespace
}  // namespace millstream::cli
