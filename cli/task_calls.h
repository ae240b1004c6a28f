// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TASK_CALLS_H_
#define MILLSTREAM_CLI_TASK_CALLS_H_

#include <chrono>
#include <functional>
#include <vector>

#include "cli/cluster_flags.h"
#include "millstream/distributed/wire/rpc.h"
#include "millstream/distributed/wire/task_methods.h"
#include "millstream/proto/task.pb.h"

namespace millstream::cli {

// What came of asking one task of a cluster.
struct TaskAnswer {
  ClusterSpec::Task task;
  Status status;
  proto::HelloResponse hello;
  double round_trip_us = 0;
};

// Calls `ask` for every task of the cluster, for all of them at the same time; returns when all have answered.
std::vector<TaskAnswer> AskAllTasks(const ClusterSpec& cluster, const std::function<void(TaskAnswer*)>& ask);

// One call to a task; waits for its server until the deadline. FailedPrecondition if the server is another program's.
template <typename Request, typename Response>
Status CallTask(RpcChannel& channel, const char* method, const Request& request, Response* response,
                std::chrono::steady_clock::time_point deadline) {
  const Status status = channel.Call(TaskMethod(method), request, response, {.deadline = deadline});
  if (absl::IsUnimplemented(status)) return errors::FailedPrecondition("there is a server, but not one of ours");
  return status;
}

// The same over a connection of its own, with that many seconds for the answer.
template <typename Request, typename Response>
Status CallTask(const std::string& address, const RpcChannelOptions& access, const char* method, const Request& request,
                Response* response, double seconds) {
  ASSIGN_OR_RETURN(const std::shared_ptr<RpcChannel> channel, RpcChannel::Connect(address, access));
  const auto time = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  return CallTask(*channel, method, request, response, std::chrono::steady_clock::now() + time);
}

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TASK_CALLS_H_
