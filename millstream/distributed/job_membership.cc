// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/job_membership.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "millstream/base/logging.h"
#include "millstream/base/untrusted_log.h"
#include "millstream/distributed/link/sockets.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTellPatience{3};  // for all tasks together
constexpr std::chrono::seconds kAskPatience{1};

bool Answers(const std::string& address) {
  return ConnectTcp(address, Clock::now() + std::chrono::milliseconds(500)).ok();
}

// `task` is who must answer; "": whichever has the address.
struct Callee {
  std::string address, task;
};

Status Call(const Callee& callee, RpcChannelOptions options, const char* method,
            const google::protobuf::Message& request, google::protobuf::Message* response, Clock::time_point deadline) {
  options.server = callee.task;
  ASSIGN_OR_RETURN(const std::shared_ptr<RpcChannel> channel, RpcChannel::Connect(callee.address, options));
  RpcCallOptions call;
  call.deadline = deadline;
  return channel->Call(TaskMethod(method), request, response, call);
}

void WarnOf(const Status& status, const std::string& address, const char* what) {
  if (status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status)) return;  // or it is gone
  LogWarning(
      absl::StrCat("The task at ", address, " was not told that ", what, ": ", EscapeUntrusted(status.ToString())));
}

}  // namespace

JobMembership::JobMembership(const ServerOptions& options)
    : task_(options.task_name()), channel_(options.channel_options()), is_ps_(options.job_name == kPsJob) {
  for (const ClusterSpec::Task& task : options.cluster.all_tasks()) {
    if (task.name() != task_) (task.job == kPsJob ? ps_ : others_).push_back(task);
  }
}

bool JobMembership::AnyPsAnswers() const {
  return std::any_of(ps_.begin(), ps_.end(), [](const ClusterSpec::Task& ps) { return Answers(ps.address); });
}

JobMembership::Others JobMembership::AskOthers() const {
  Others others;
  proto::HelloRequest hello;
  hello.set_protocol(kProtocolVersion);
  for (const ClusterSpec::Task& task : others_) {
    proto::HelloResponse response;
    const Status status =
        Call({task.address, task.name()}, channel_, "Hello", hello, &response, Clock::now() + kAskPatience);
    if (absl::IsUnavailable(status)) {
      others.all_there = false;
    } else if (status.ok() && response.task() == task.name() && response.serves_only()) {
      others.serving.push_back({task.name(), task.address, response.incarnation()});
    } else {
      others.any_trains = true;
      break;
    }
  }
  return others;
}

void JobMembership::TellDone(const Others& others, const std::string& reason) const {
  const Clock::time_point deadline = Clock::now() + kTellPatience;
  proto::EndJobRequest end;
  proto::EndJobResponse ended;
  end.set_reason(reason);
  end.set_tell_late(true);
  for (const ClusterSpec::Task& ps : ps_) {
    // Those that only serve never say that they leave; a ps need not stay for them.
    for (const Serving& serving : others.serving) {
      proto::LeaveJobRequest leave;
      proto::LeaveJobResponse left;
      leave.set_task(serving.task);
      leave.set_incarnation(serving.incarnation);
      Call({ps.address, ps.name()}, channel_, "LeaveJob", leave, &left, deadline).IgnoreError();
    }
    WarnOf(Call({ps.address, ps.name()}, channel_, "EndJob", end, &ended, deadline), ps.address, "the job is done");
  }
  for (const Serving& serving : others.serving) {
    WarnOf(Call({serving.address, serving.task}, channel_, "EndJob", end, &ended, deadline), serving.address,
           "the job is done");
  }
}

void JobMembership::TellLeft(uint64_t incarnation) const {
  const Clock::time_point deadline = Clock::now() + kTellPatience;
  proto::LeaveJobRequest leave;
  proto::LeaveJobResponse left;
  leave.set_task(task_);
  leave.set_incarnation(incarnation);
  for (const ClusterSpec::Task& ps : ps_)
    WarnOf(Call({ps.address, ps.name()}, channel_, "LeaveJob", leave, &left, deadline), ps.address,
           "this one has left");
}

void JobMembership::Leave(uint64_t incarnation) const {
  if (is_ps_ || (!ended_well_ && !client_ended_) || PsTasksAreKept()) return;
  const Others others = AskOthers();
  if (!ended_well_ && (others.any_trains || !others.all_there)) return;
  TellLeft(incarnation);
  if (!others.any_trains) TellDone(others, absl::StrCat(task_, " was the last worker"));
}

std::optional<std::vector<JobMembership::Serving>> JobMembership::EndForClient(uint64_t incarnation) const {
  if (PsTasksAreKept()) return std::nullopt;
  const Others others = AskOthers();
  if (others.any_trains) return std::nullopt;
  if (!is_ps_) TellLeft(incarnation);  // now: when this task ends, others may have ended before it
  TellDone(others, absl::StrCat("the only client, at ", task_, ", has ended"));
  return others.serving;
}

Status LeaveAsClient(const std::string& target) {
  absl::string_view address = target;
  if (PsTasksAreKept() || !absl::ConsumePrefix(&address, "grpc://")) return OkStatus();
  ASSIGN_OR_RETURN(const RpcChannelOptions channel, ChannelOptionsFromEnvironment());
  const proto::LeaveJobRequest leave;
  proto::LeaveJobResponse left;
  return Call({std::string(address), ""}, channel, "LeaveJob", leave, &left, Clock::now() + 2 * kTellPatience);
}

[[maybe_unused]] const bool kLeaveRegistered = [] {
  RegisterLeaveFunction("grpc", LeaveAsClient);
  return true;
}();

}  // namespace millstream
