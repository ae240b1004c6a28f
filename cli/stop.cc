// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "cli/command.h"
#include "cli/job_flags.h"
#include "cli/task_calls.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/wire/protocol.h"

namespace millstream::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct StopFlags {
  JobFlags job;
  double timeout = 5, wait = 20;
  std::string reason = "millstream stop";
};

struct Outcome {
  bool over = true;
  std::string text;
};

Clock::time_point In(double seconds) {
  return Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// True once nobody answers at the task's address.
bool AwaitEnd(const ServerOptions& access, const ClusterSpec::Task& task, Clock::time_point deadline) {
  proto::HelloRequest hello;
  hello.set_protocol(kProtocolVersion);
  while (true) {
    proto::HelloResponse response;
    if (absl::IsUnavailable(CallTask(task.address, access.channel_options(task.name()), "Hello", hello, &response, 1)))
      return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Outcome StopTask(const StopFlags& flags, const ServerOptions& access, const ClusterSpec::Task& task) {
  proto::EndJobRequest request;
  proto::EndJobResponse response;
  request.set_reason(flags.reason);
  const Status told =
      CallTask(task.address, access.channel_options(task.name()), "EndJob", request, &response, flags.timeout);
  if (absl::IsUnavailable(told)) return {true, "not running"};
  if (absl::IsDeadlineExceeded(told)) return {false, absl::StrCat("does not answer within ", flags.timeout, " s")};
  if (!told.ok() && !absl::IsCancelled(told))
    return {false, EscapeUntrusted(told.message())};  // it may end as it answers
  if (flags.wait <= 0) return {true, "stop requested"};
  if (AwaitEnd(access, task, In(flags.wait))) return {true, "ended"};
  return {false, absl::StrCat("stop requested, but still running after ", flags.wait, " s")};
}

// A launcher ends what its tasks' servers cannot: programs without one, and those that were stopped or hang.
bool StopLauncher(const launch::JobRecord& record, double wait) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  if (record.host != host || record.pid <= 0 || kill(static_cast<pid_t>(record.pid), SIGTERM) != 0) return false;
  std::printf("the process of the job, %d, was sent SIGTERM\n", static_cast<int>(record.pid));
  const auto deadline = In(wait);
  while (Clock::now() < deadline) {
    if (!launch::FindJob(record.name.empty() ? record.folder : record.name).ok()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

int RunStop(const StopFlags& flags) {
  const StatusOr<JobTarget> target = flags.job.Resolve(/*guess=*/false);
  if (!target.ok()) return FailFlags(target.status());
  bool over = true, any = false;
  std::vector<Outcome> outcomes(static_cast<size_t>(target->cluster.num_tasks()));
  const std::vector<ClusterSpec::Task> tasks = target->cluster.all_tasks();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < tasks.size(); ++i)
    threads.emplace_back([&, i] { outcomes[i] = StopTask(flags, target->access, tasks[i]); });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::printf("%s at %s: %s\n", tasks[i].name().c_str(), tasks[i].address.c_str(), outcomes[i].text.c_str());
    over = over && outcomes[i].over;
    any = any || outcomes[i].text != "not running";
  }
  if (target->record.has_value() && (!over || !any)) return StopLauncher(*target->record, flags.wait) ? 0 : 1;
  return over ? 0 : 1;
}

Command::Run AddStopFlags(CLI::App& app) {
  auto flags = std::make_shared<StopFlags>();
  flags->job.AddTo(app);
  app.add_option("--timeout", flags->timeout, "seconds to wait for answers (default: 5)")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_option("--wait", flags->wait, "seconds the tasks have to end; 0: do not wait (default: 20)")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--reason", flags->reason, "for the servers' logs");
  return [flags] { return RunStop(*flags); };
}

const Registration<Command> kStopCommand({
    .name = "stop",
    .group = Command::Group::kClusters,
    .help = "End a job: every task saves and ends. Returns when all have.\n"
            "Examples: millstream stop mlp-20261116-105500\n"
            "          millstream stop --logdir /tmp/logs\n"
            "          millstream stop --ps_hosts=localhost:2222 --worker_hosts=localhost:2223",
    .add_flags = AddStopFlags,
});

}  // namespace
}  // namespace millstream::cli
