// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/strip.h"
#include "cli/command.h"
#include "millstream/distributed/server_options.h"
#include "millstream/distributed/wire/rpc.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/task.pb.h"
#include "millstream/runtime/chrome_trace.h"

namespace millstream::cli {
namespace {

struct TraceFlags {
  std::string from;  // "grpc://host:port" or a file
  std::string output = "trace.json";
  double timeout = 30;
};

StatusOr<proto::StepStats> TraceServer(absl::string_view address, double timeout) {
  ASSIGN_OR_RETURN(const RpcChannelOptions options, ChannelOptionsFromEnvironment());
  ASSIGN_OR_RETURN(std::shared_ptr<RpcChannel> channel, RpcChannel::Connect(std::string(address), options));
  proto::TraceRequest request;
  proto::TraceResponse response;
  request.set_timeout_ms(static_cast<int64_t>(timeout * 1000));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(request.timeout_ms() + 5000);
  RETURN_IF_ERROR(channel->Call(TaskMethod("Trace"), request, &response, {.deadline = deadline}));
  return std::move(*response.mutable_step_stats());
}

// A RunMetadata or a StepStats, as sessions hand them out.
StatusOr<proto::StepStats> ReadTrace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errors::NotFound("cannot read ", path);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  proto::RunMetadata metadata;
  if (metadata.ParseFromString(bytes.str()) && metadata.step_stats().dev_stats_size() > 0) return metadata.step_stats();
  proto::StepStats stats;
  if (stats.ParseFromString(bytes.str()) && stats.dev_stats_size() > 0) return stats;
  return errors::InvalidArgument(path, " holds no traced step (a RunMetadata or StepStats message)");
}

int RunTrace(const TraceFlags& flags) {
  absl::string_view from = flags.from;
  StatusOr<proto::StepStats> stats =
      absl::ConsumePrefix(&from, "grpc://") ? TraceServer(from, flags.timeout) : ReadTrace(flags.from);
  if (!stats.ok()) return Fail(stats.status());
  std::ofstream out(flags.output, std::ios::binary);
  out << ChromeTrace(*stats);
  out.close();
  if (!out) return Fail(errors::Unavailable("cannot write ", flags.output));
  int nodes = 0;
  for (const auto& device : stats->dev_stats()) nodes += device.node_stats_size();
  std::printf("%s: %d nodes on %d devices; open it in chrome://tracing or ui.perfetto.dev\n", flags.output.c_str(),
              nodes, stats->dev_stats_size());
  return 0;
}

Command::Run AddTraceFlags(CLI::App& app) {
  auto flags = std::make_shared<TraceFlags>();
  app.add_option("from", flags->from,
                 "grpc://host:port of the server that a client talks to, or a file with RunMetadata")
      ->required();
  app.add_option("-o,--output", flags->output, "file to write (default: trace.json)");
  app.add_option("--timeout", flags->timeout, "seconds to wait for a step (default: 30)")
      ->check(CLI::Range(0.01, 3600.0));
  return [flags] { return RunTrace(*flags); };
}

const Registration<Command> kTraceCommand({
    .name = "trace",
    .group = Command::Group::kClusters,
    .help =
        "Write a step of a whole cluster as a Chrome trace: the next step that a running server's sessions make, or "
        "one that was saved.\n"
        "Examples: millstream trace grpc://localhost:2223 -o step.json\n"
        "          millstream trace run_metadata.pb",
    .add_flags = AddTraceFlags,
});

}  // namespace
}  // namespace millstream::cli
