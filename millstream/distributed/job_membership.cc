// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/job_membership.h"

#include <algorithm>
#include <cstdlib>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/task_service.h"
#include "millstream/proto/task.pb.h"

namespace millstream {
namespace {

constexpr char kPsJob[] = "ps";

bool Answers(const std::string& address) {
  return ConnectTcp(address, std::chrono::steady_clock::now() + std::chrono::milliseconds(500)).ok();
}

bool AnyAnswers(const std::vector<std::string>& addresses) {
  return std::any_of(addresses.begin(), addresses.end(), Answers);
}

}  // namespace

JobMembership::JobMembership(const ServerOptions& options)
    : task_(options.task_name()), channel_(options.channel_options()) {
  if (options.job_name == kPsJob) return;
  for (const ClusterSpec::Task& task : options.cluster.all_tasks()) {
    if (task.job == kPsJob) {
      ps_.push_back(task.address);
    } else if (task.name() != task_) {
      others_.push_back(task.address);
    }
  }
}

bool JobMembership::AnyPsAnswers() const { return AnyAnswers(ps_); }

void JobMembership::EndPsTasksIfLast() const {
  const char* keep = std::getenv("MILLSTREAM_KEEP_PS");
  if (!ended_well_ || ps_.empty() || (keep != nullptr && std::string(keep) == "1") || AnyAnswers(others_)) return;
  for (const std::string& address : ps_) {
    const Status status = EndJobAt(address, absl::StrCat(task_, " was the last worker"), channel_);
    if (!status.ok())
      LogWarning(absl::StrCat("The task at ", address, " was not told that the job is done: ", status.ToString()));
  }
}

Status EndJobAt(const std::string& address, const std::string& reason, const RpcChannelOptions& options,
                std::chrono::milliseconds timeout) {
  proto::EndJobRequest request;
  proto::EndJobResponse response;
  request.set_reason(reason);
  ASSIGN_OR_RETURN(const std::shared_ptr<RpcChannel> channel, RpcChannel::Connect(address, options));
  RpcCallOptions call;
  call.deadline = std::chrono::steady_clock::now() + timeout;
  const Status status = channel->Call(TaskMethod("EndJob"), request, &response, call);
  const bool gone = absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
  return gone ? OkStatus() : status;
}

}  // namespace millstream
