// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_TASK_SERVICE_H_
#define MILLSTREAM_DISTRIBUTED_TASK_SERVICE_H_

#include <functional>
#include <string>
#include <vector>

#include "millstream/distributed/link/link_hub.h"
#include "millstream/distributed/observer/trace_requests.h"
#include "millstream/distributed/wire/rpc.h"
#include "millstream/distributed/worker/worker.h"

namespace millstream {

class JobRoll;
class ServerObserver;

// What a task answers to other tasks outside of steps (proto/task.proto).
struct TaskServiceOptions {
  Worker* worker = nullptr;
  LinkHub* hub = nullptr;
  TraceRequests* traces = nullptr;     // of the task's master; null: none
  ServerObserver* observer = nullptr;  // answers questions about the task; null: they are refused
  std::string job_id;
  JobRoll* roll = nullptr;  // of a ps; null: none is kept
  // By the last worker, who lets those know that come late, or by `millstream stop`.
  std::function<void(const std::string& reason, bool tell_late)> end_job;
  std::function<bool()> job_done;
  std::function<bool()> serves_only;  // HelloResponse.serves_only
  std::function<void()> client_left;  // whose training here ended well
};
std::vector<RpcMethod> TaskServiceMethods(const TaskServiceOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_TASK_SERVICE_H_
