// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/job_membership.h"

#include <algorithm>

#include "millstream/base/logging.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"

namespace millstream {
namespace {

constexpr std::chrono::seconds kPatience{10};

bool Answers(const std::string& address) {
  return ConnectTcp(address, std::chrono::steady_clock::now() + std::chrono::milliseconds(500)).ok();
}

bool AnyAnswers(const std::vector<std::string>& addresses) {
  return std::any_of(addresses.begin(), addresses.end(), Answers);
}

template <typename Response>
Status Tell(RpcChannel& channel, const char* method, const google::protobuf::Message& request) {
  Response response;
  RpcCallOptions call;
  call.deadline = std::chrono::steady_clock::now() + kPatience;
  return channel.Call(TaskMethod(method), request, &response, call);
}

void WarnOf(const Status& status, const std::string& address, const char* what) {
  if (status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status)) return;  // or it is gone
  LogWarning(absl::StrCat("The task at ", address, " was not told that ", what, ": ", status.ToString()));
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

void JobMembership::Leave(uint64_t incarnation) const {
  if (!ended_well_ || ps_.empty() || PsTasksAreKept()) return;
  std::vector<std::shared_ptr<RpcChannel>> channels;
  proto::LeaveJobRequest leave;
  leave.set_task(task_);
  leave.set_incarnation(incarnation);
  for (const std::string& address : ps_) {
    StatusOr<std::shared_ptr<RpcChannel>> channel = RpcChannel::Connect(address, channel_);
    if (!channel.ok()) continue;
    const Status status = Tell<proto::LeaveJobResponse>(**channel, "LeaveJob", leave);
    WarnOf(status, address, "this one has left");
    if (!absl::IsUnavailable(status)) channels.push_back(*std::move(channel));
  }
  if (AnyAnswers(others_)) return;
  proto::EndJobRequest end;
  end.set_reason(absl::StrCat(task_, " was the last worker"));
  end.set_tell_late(true);
  for (const auto& channel : channels) {
    WarnOf(Tell<proto::EndJobResponse>(*channel, "EndJob", end), channel->address(), "the job is done");
  }
}

}  // namespace millstream
