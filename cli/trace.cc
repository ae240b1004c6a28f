// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/command.h"
#include "cli/job_flags.h"
#include "cli/task_calls.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/task.pb.h"
#include "millstream/runtime/chrome_trace.h"

namespace millstream::cli {
namespace {

struct TraceFlags {
  std::string from;  // "grpc://host:port", a file, or a job's name or folder
  std::string logdir, task;
  AccessFlags access;
  std::string output = "trace.json";
  double timeout = 30;
};

StatusOr<proto::StepStats> TraceServer(const std::string& address, const ServerOptions& access, double timeout) {
  proto::TraceRequest request;
  proto::TraceResponse response;
  request.set_timeout_ms(static_cast<int64_t>(timeout * 1000));
  RETURN_IF_ERROR(CallTask(address, access.channel_options(), "Trace", request, &response, timeout + 5));
  return std::move(*response.mutable_step_stats());
}

// The task whose master runs the steps: the chief, unless another one is asked for.
StatusOr<std::string> AddressToTrace(const ClusterSpec& cluster, const std::string& task) {
  std::vector<std::string> names;
  for (const ClusterSpec::Task& one : cluster.all_tasks()) {
    names.push_back(absl::StrCat(one.job, ":", one.index));
    if (names.back() == task) return one.address;
  }
  if (!task.empty()) return errors::InvalidArgument("--task ", task, ": the job has ", absl::StrJoin(names, ", "));
  for (const char* job : {"chief", "master", "worker"}) {
    if (cluster.Has(job, 0)) return cluster.address(job, 0);
  }
  return cluster.all_tasks().front().address;
}

StatusOr<proto::StepStats> TraceJob(const JobTarget& target, const TraceFlags& flags) {
  ASSIGN_OR_RETURN(const std::string address, AddressToTrace(target.cluster, flags.task));
  return TraceServer(address, target.access, flags.timeout);
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

StatusOr<proto::StepStats> FindTrace(const TraceFlags& flags) {
  absl::string_view address = flags.from;
  if (absl::ConsumePrefix(&address, "grpc://")) {
    ServerOptions access;
    RETURN_IF_ERROR(flags.access.Apply(&access));
    return TraceServer(std::string(address), access, flags.timeout);
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(flags.from, error)) return ReadTrace(flags.from);
  if (flags.from.empty() && flags.logdir.empty()) {
    JobFlags only;
    static_cast<AccessFlags&>(only.cluster) = flags.access;
    ASSIGN_OR_RETURN(const JobTarget target, only.Resolve(/*guess=*/true));
    return TraceJob(target, flags);
  }
  ASSIGN_OR_RETURN(const JobTarget target,
                   TargetOfJob(flags.from.empty() ? flags.logdir + "/" : flags.from, flags.access));
  return TraceJob(target, flags);
}

int RunTrace(const TraceFlags& flags) {
  const StatusOr<proto::StepStats> stats = FindTrace(flags);
  if (!stats.ok()) return FailFlags(stats.status());
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
  app.add_option(
      "from", flags->from,
      "name or folder of a running job of 'train' or 'launch', grpc://host:port of the server that a client\n"
      "talks to, or a file with RunMetadata (default: the only job that runs here)");
  app.add_option("--logdir", flags->logdir, "the job that writes to this folder");
  app.add_option("--task", flags->task, "the task of the job that runs the steps (default: chief or worker:0)");
  flags->access.AddTo(app);
  app.add_option("-o,--output", flags->output, "file to write (default: trace.json)");
  app.add_option("--timeout", flags->timeout, "seconds to wait for a step (default: 30)")
      ->check(CLI::Range(0.01, 3600.0));
  return [flags] { return RunTrace(*flags); };
}

const Registration<Command> kTraceCommand({
    .name = "trace",
    .group = Command::Group::kClusters,
    .help =
        "Write a step of a whole cluster as a Chrome trace: the next training step that a running job makes, or one "
        "that was saved.\n"
        "Examples: millstream trace mlp-20261116-105500\n"
        "          millstream trace --logdir /tmp/logs --task worker:1\n"
        "          millstream trace grpc://localhost:2223 -o step.json\n"
        "          millstream trace run_metadata.pb",
    .add_flags = AddTraceFlags,
});

}  // namespace
}  // namespace millstream::cli
