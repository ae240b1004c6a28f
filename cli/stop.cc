// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "cli/command.h"
#include "cli/task_calls.h"

namespace millstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct StopFlags {
  ClusterFlags cluster;
  double timeout = 5;
  std::string reason = "millstream stop";
};

int RunStop(const StopFlags& flags) {
  ServerOptions options;
  if (const Status status = flags.cluster.Apply(&options); !status.ok()) return FailFlags(status);
  StatusOr<ClusterSpec> cluster = flags.cluster.Resolve();
  if (!cluster.ok()) return FailFlags(cluster.status());
  const auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(flags.timeout * 1000));
  const auto stop = [&](TaskAnswer* answer) {
    StatusOr<std::shared_ptr<RpcChannel>> channel =
        RpcChannel::Connect(answer->task.address, options.channel_options());
    answer->status = channel.status();
    if (!channel.ok()) return;
    proto::EndJobRequest request;
    proto::EndJobResponse response;
    request.set_reason(flags.reason);
    answer->status = CallTask(**channel, "EndJob", request, &response, deadline);
    if (absl::IsCancelled(answer->status)) answer->status = OkStatus();  // it ended before it could answer
  };
  int refused = 0;
  for (const TaskAnswer& answer : AskAllTasks(*cluster, stop)) {
    const bool gone = absl::IsUnavailable(answer.status);  // what is not running need not be stopped
    refused += answer.status.ok() || gone ? 0 : 1;
    const std::string outcome = answer.status.ok() ? "told to end"
                                : gone             ? "not running"
                                                   : std::string(answer.status.message());
    std::printf("%s at %s: %s\n", answer.task.name().c_str(), answer.task.address.c_str(), outcome.c_str());
  }
  return refused > 0 ? 1 : 0;
}

Command::Run AddStopFlags(CLI::App& app) {
  auto flags = std::make_shared<StopFlags>();
  flags->cluster.AddTo(app);
  app.add_option("--timeout", flags->timeout, "seconds to wait for answers (default: 5)")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_option("--reason", flags->reason, "for the servers' logs");
  return [flags] { return RunStop(*flags); };
}

const Registration<Command> kStopCommand({
    .name = "stop",
    .group = Command::Group::kClusters,
    .help = "End a job: every task's server is told to, and ends.\n"
            "Example: millstream stop --ps_hosts=localhost:2222 --worker_hosts=localhost:2223",
    .add_flags = AddStopFlags,
});

}  // namespace
}  // namespace millstream::cli
