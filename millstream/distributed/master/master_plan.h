// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_PLAN_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_PLAN_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millstream/base/thread_policy.h"
#include "millstream/distributed/master/cluster_task.h"
#include "millstream/distributed/observer/task_observer.h"

namespace millstream {

// Whether a session may still send requests to its tasks. Plans and steps share it with their session, since they may
// live a moment longer: a deadline may strike when its step has just ended. Closing the session waits until nobody
// cancels a step.
struct TaskAccess {
  Mutex mu;
  CondVar none_cancelling;
  bool open ABSL_GUARDED_BY(mu) = true;
  int cancelling ABSL_GUARDED_BY(mu) = 0;
};

// A signature of a master's session, cut into parts that are registered at their tasks.
struct MasterPlan {
  struct Part {
    std::shared_ptr<ClusterTask> task;
    uint32_t id = 0;
    std::vector<int> args;  // which feeds
    std::vector<int> rets;  // which fetches
  };
  // Closing a session drops its parts anyway.
  ~MasterPlan() {
    MutexLock lock(access->mu);
    if (!access->open) return;
    for (const Part& part : parts) part.task->Deregister(session, part.id);
  }
  std::shared_ptr<TaskAccess> access;
  std::string session;
  std::vector<Part> parts;  // remote ones first: they begin while this task works
  std::vector<DType> arg_types;
  size_t num_fetches = 0;
  int64_t num_nodes = 0;
  mutable std::atomic<int64_t> runs{0};
  std::vector<std::pair<size_t, std::shared_ptr<FetchObserver>>> observed;  // by number of the fetch
  mutable std::atomic<int64_t> steps{0};                                    // counted where costs are wanted
  mutable WaitPolicy waits;  // of callers, once this task has done its part
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_PLAN_H_
