// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/stuck_steps.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "millstream/base/logging.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAskPatience = std::chrono::seconds(2);

// "" if the task answers.
std::string WhatIsWrong(const ClusterSpec::Task& task, const RpcChannelOptions& access) {
  const StatusOr<std::shared_ptr<RpcChannel>> channel = RpcChannel::Connect(task.address, access);
  if (!channel.ok()) return "";
  proto::HelloRequest request;
  proto::HelloResponse response;
  request.set_protocol(kProtocolVersion);
  RpcCallOptions call;
  call.deadline = Clock::now() + kAskPatience;
  const Status status = (*channel)->Call(TaskMethod("Hello"), request, &response, call);
  if (absl::IsDeadlineExceeded(status)) return "does not answer";
  return absl::IsUnavailable(status) ? "is not running" : "";
}

}  // namespace

StuckSteps::StuckSteps(const ServerOptions* server, Master* master, Options options)
    : server_(server), master_(master), options_(options), thread_([this] { Watch(); }) {}

void StuckSteps::Stop() {
  quit_.Notify();
  if (thread_.joinable()) thread_.join();
}

std::string StuckSteps::Silent() const {
  std::vector<ClusterSpec::Task> tasks = server_->cluster.all_tasks();
  std::erase_if(tasks, [&](const ClusterSpec::Task& task) { return task.name() == server_->task_name(); });
  std::vector<std::string> wrong(tasks.size());
  std::vector<std::thread> asking;
  for (size_t i = 0; i < tasks.size(); ++i)
    asking.emplace_back([&, i] { wrong[i] = WhatIsWrong(tasks[i], server_->channel_options(tasks[i].name())); });
  for (std::thread& thread : asking) thread.join();
  std::vector<std::string> silent;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!wrong[i].empty()) silent.push_back(absl::StrCat(tasks[i].name(), " at ", tasks[i].address, " ", wrong[i]));
  }
  return absl::StrJoin(silent, ", ");
}

void StuckSteps::Watch() {
  std::map<uint64_t, Clock::time_point> seen;  // when each step that runs was first seen
  auto next = Clock::now(), told_at = next;
  std::string told;
  while (!quit_.WaitUntil(Clock::now() + options_.first / 4)) {
    const auto now = Clock::now();
    std::map<uint64_t, Clock::time_point> running;
    auto oldest = now;
    for (const uint64_t step : master_->RunningSteps()) {
      const auto before = seen.find(step);
      oldest = std::min(oldest, running[step] = before == seen.end() ? now : before->second);
    }
    seen.swap(running);
    if (now - oldest < options_.first) {
      next = now;
      continue;
    }
    if (now < next) continue;
    next = now + options_.again;
    const std::string silent = Silent();
    // Long steps may be usual here, and those tasks have nothing to do with them.
    if (silent.empty() || (silent == told && now - told_at < 10 * options_.again)) continue;
    told = silent;
    told_at = now;
    const auto secs = std::chrono::duration_cast<std::chrono::seconds>(now - oldest).count();
    LogWarning(absl::StrCat(server_->task_name(), ": a step has been running for ", secs, " s; ", silent));
  }
}

}  // namespace millstream
