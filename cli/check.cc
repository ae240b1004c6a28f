// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_join.h"
#include "cli/cluster_flags.h"
#include "cli/commands.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/rpc.h"
#include "millstream/proto/task.pb.h"

namespace millstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct CheckFlags {
  ClusterFlags cluster;
  double timeout = 5;
  bool json = false;
};

struct Finding {
  ClusterSpec::Task task;
  Status status;
  proto::HelloResponse hello;
  double round_trip_us = 0;
};

// One call to a task; waits for its server until the deadline.
template <typename Request, typename Response>
Status CallTask(RpcChannel& channel, const char* method, const Request& request, Response* response,
                Clock::time_point deadline) {
  const Status status = channel.Call(TaskMethod(method), request, response, {.deadline = deadline});
  if (absl::IsUnimplemented(status)) return errors::FailedPrecondition("there is a server, but not one of ours");
  return status;
}

void Examine(const ServerOptions& options, Clock::time_point deadline, Finding* finding) {
  StatusOr<std::shared_ptr<RpcChannel>> channel = RpcChannel::Connect(finding->task.address, options.channel_options());
  finding->status = channel.status();
  if (!channel.ok()) return;
  proto::HelloRequest request;
  request.set_protocol(kProtocolVersion);
  request.set_job_id(options.job_id);
  request.set_task(finding->task.name());
  finding->status = CallTask(**channel, "Hello", request, &finding->hello, deadline);
  constexpr int kRounds = 20;
  double best = 1e12;
  for (int i = 0; i < kRounds && finding->status.ok(); ++i) {
    const auto start = Clock::now();
    finding->status = CallTask(**channel, "Hello", request, &finding->hello, deadline);
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  finding->round_trip_us = best;
}

// Asks all tasks at once.
std::vector<Finding> AskAll(const ClusterSpec& cluster, const std::function<void(Finding*)>& ask) {
  std::vector<Finding> findings;
  for (const ClusterSpec::Task& task : cluster.all_tasks()) findings.push_back({task, OkStatus(), {}, 0});
  std::vector<std::thread> threads;
  for (Finding& finding : findings) threads.emplace_back([&ask, &finding] { ask(&finding); });
  for (std::thread& thread : threads) thread.join();
  return findings;
}

std::vector<std::string> DevicesOf(const proto::HelloResponse& hello) {
  std::vector<std::string> names;
  for (const auto& device : hello.device()) names.push_back(device.name().substr(device.name().rfind('/') + 1));
  return names;
}

void PrintJson(const Finding& finding) {
  nlohmann::ordered_json line;
  line["task"] = finding.task.name();
  line["address"] = finding.task.address;
  line["reachable"] = finding.status.ok();
  if (finding.status.ok()) {
    line["version"] = finding.hello.version();
    line["devices"] = DevicesOf(finding.hello);
    line["incarnation"] = finding.hello.incarnation();
    line["job_done"] = finding.hello.job_done();
    line["round_trip_us"] = finding.round_trip_us;
  } else {
    line["error"] = std::string(finding.status.message());
  }
  std::printf("%s\n", line.dump().c_str());
}

void PrintText(const Finding& finding) {
  const std::string who = absl::StrCat(finding.task.name(), " at ", finding.task.address);
  if (!finding.status.ok()) {
    std::printf("%s: NOT reachable: %s\n", who.c_str(), std::string(finding.status.message()).c_str());
    return;
  }
  std::printf("%s: reachable, version %s, devices %s, round trip %.0f us%s\n", who.c_str(),
              finding.hello.version().c_str(), absl::StrJoin(DevicesOf(finding.hello), " ").c_str(),
              finding.round_trip_us, finding.hello.job_done() ? ", job done" : "");
}

int RunCheck(const CheckFlags& flags) {
  ServerOptions options;
  if (const Status status = flags.cluster.Apply(&options); !status.ok()) return Fail(status);
  StatusOr<ClusterSpec> cluster = flags.cluster.Resolve();
  if (!cluster.ok()) return Fail(cluster.status());
  const auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(flags.timeout * 1000));
  int missing = 0;
  for (const Finding& finding : AskAll(*cluster, [&](Finding* f) { Examine(options, deadline, f); })) {
    if (flags.json)
      PrintJson(finding);
    else
      PrintText(finding);
    missing += finding.status.ok() ? 0 : 1;
  }
  if (missing > 0)
    std::fprintf(stderr, "millstream: %d of %d tasks cannot be reached\n", missing, cluster->num_tasks());
  return missing > 0 ? 1 : 0;
}

int RunStop(const CheckFlags& flags, const std::string& reason) {
  ServerOptions options;
  if (const Status status = flags.cluster.Apply(&options); !status.ok()) return Fail(status);
  StatusOr<ClusterSpec> cluster = flags.cluster.Resolve();
  if (!cluster.ok()) return Fail(cluster.status());
  const auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(flags.timeout * 1000));
  const auto stop = [&](Finding* finding) {
    StatusOr<std::shared_ptr<RpcChannel>> channel =
        RpcChannel::Connect(finding->task.address, options.channel_options());
    finding->status = channel.status();
    if (!channel.ok()) return;
    proto::EndJobRequest request;
    proto::EndJobResponse response;
    request.set_reason(reason);
    finding->status = CallTask(**channel, "EndJob", request, &response, deadline);
    if (absl::IsCancelled(finding->status)) finding->status = OkStatus();  // it ended before it could answer
  };
  int refused = 0;
  for (const Finding& finding : AskAll(*cluster, stop)) {
    const bool gone = absl::IsUnavailable(finding.status);  // what is not running need not be stopped
    refused += finding.status.ok() || gone ? 0 : 1;
    const std::string outcome = finding.status.ok() ? "told to end"
                                : gone              ? "not running"
                                                    : std::string(finding.status.message());
    std::printf("%s at %s: %s\n", finding.task.name().c_str(), finding.task.address.c_str(), outcome.c_str());
  }
  return refused > 0 ? 1 : 0;
}

}  // namespace

void AddCheckCommand(CLI::App& app, int* status) {
  auto* command =
      app.add_subcommand("check",
                         "Ask every task of a cluster who it is; fails if one cannot be reached.\n"
                         "Example: millstream check --ps_hosts=localhost:2222 --worker_hosts=localhost:2223");
  auto flags = std::make_shared<CheckFlags>();
  flags->cluster.AddTo(*command);
  command->add_option("--timeout", flags->timeout, "seconds to wait for answers (default: 5)")
      ->check(CLI::Range(0.01, 3600.0));
  command->add_flag("--json", flags->json, "one JSON object per line");
  command->callback([flags, status] { *status = RunCheck(*flags); });
}

void AddStopCommand(CLI::App& app, int* status) {
  auto* command =
      app.add_subcommand("stop",
                         "End a job: every task's server is told to, and ends.\n"
                         "Example: millstream stop --ps_hosts=localhost:2222 --worker_hosts=localhost:2223");
  auto flags = std::make_shared<CheckFlags>();
  auto reason = std::make_shared<std::string>("millstream stop");
  flags->cluster.AddTo(*command);
  command->add_option("--timeout", flags->timeout, "seconds to wait for answers (default: 5)")
      ->check(CLI::Range(0.01, 3600.0));
  command->add_option("--reason", *reason, "for the servers' logs");
  command->callback([flags, reason, status] { *status = RunStop(*flags, *reason); });
}

}  // namespace millstream::cli
