// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/job_flags.h"
#include "cli/task_calls.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/wire/protocol.h"

namespace millstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct CheckFlags {
  JobFlags job;
  double timeout = 5;
  bool json = false;
};

void Examine(const ServerOptions& options, Clock::time_point deadline, TaskAnswer* answer) {
  StatusOr<std::shared_ptr<RpcChannel>> channel =
      RpcChannel::Connect(answer->task.address, options.channel_options(answer->task.name()));
  answer->status = channel.status();
  if (!channel.ok()) return;
  proto::HelloRequest request;
  request.set_protocol(kProtocolVersion);
  request.set_job_id(options.job_id);
  request.set_task(answer->task.name());
  answer->status = CallTask(**channel, "Hello", request, &answer->hello, deadline);
  constexpr int kRounds = 20;
  double best = 1e12;
  for (int i = 0; i < kRounds && answer->status.ok(); ++i) {
    const auto start = Clock::now();
    answer->status = CallTask(**channel, "Hello", request, &answer->hello, deadline);
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  answer->round_trip_us = best;
}

std::vector<std::string> DevicesOf(const proto::HelloResponse& hello) {
  std::vector<std::string> names;
  for (const auto& device : hello.device()) names.push_back(device.name().substr(device.name().rfind('/') + 1));
  return names;
}

void PrintJson(const TaskAnswer& answer) {
  nlohmann::ordered_json line;
  line["task"] = answer.task.name();
  line["address"] = answer.task.address;
  line["reachable"] = answer.status.ok();
  if (answer.status.ok()) {
    line["version"] = answer.hello.version();
    line["devices"] = DevicesOf(answer.hello);
    line["incarnation"] = answer.hello.incarnation();
    line["job_done"] = answer.hello.job_done();
    line["round_trip_us"] = answer.round_trip_us;
  } else {
    line["error"] = std::string(answer.status.message());
  }
  std::printf("%s\n", line.dump().c_str());
}

void PrintText(const TaskAnswer& answer) {
  const std::string who = absl::StrCat(answer.task.name(), " at ", answer.task.address);
  if (!answer.status.ok()) {
    std::printf("%s: NOT reachable: %s\n", who.c_str(), EscapeUntrusted(answer.status.message()).c_str());
    return;
  }
  std::printf("%s: reachable, version %s, devices %s, round trip %.0f us%s\n", who.c_str(),
              EscapeUntrusted(answer.hello.version()).c_str(),
              EscapeUntrusted(absl::StrJoin(DevicesOf(answer.hello), " ")).c_str(), answer.round_trip_us,
              answer.hello.job_done() ? ", job done" : "");
}

int RunCheck(const CheckFlags& flags) {
  const StatusOr<JobTarget> target = flags.job.Resolve(/*guess=*/true);
  if (!target.ok()) return FailFlags(target.status());
  const auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(flags.timeout * 1000));
  int missing = 0;
  const auto ask = [&](TaskAnswer* answer) { Examine(target->access, deadline, answer); };
  for (const TaskAnswer& answer : AskAllTasks(target->cluster, ask)) {
    if (flags.json)
      PrintJson(answer);
    else
      PrintText(answer);
    missing += answer.status.ok() ? 0 : 1;
  }
  if (missing > 0)
    std::fprintf(stderr, "millstream: %d of %d tasks cannot be reached\n", missing, target->cluster.num_tasks());
  return missing > 0 ? 1 : 0;
}

Command::Run AddCheckFlags(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  flags->job.AddTo(app);
  app.add_option("--timeout", flags->timeout, "seconds to wait for answers (default: 5)")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_flag("--json", flags->json, "one JSON object per line");
  return [flags] { return RunCheck(*flags); };
}

const Registration<Command> kCheckCommand({
    .name = "check",
    .group = Command::Group::kClusters,
    .help = "Ask every task of a job who it is; fails if one cannot be reached.\n"
            "Examples: millstream check mlp-20261116-105500\n"
            "          millstream check --ps_hosts=localhost:2222 --worker_hosts=localhost:2223",
    .add_flags = AddCheckFlags,
});

}  // namespace
}  // namespace millstream::cli
