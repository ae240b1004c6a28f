// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_WORKER_TASK_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_WORKER_TASK_SESSION_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millstream/distributed/cluster/session_cluster.h"
#include "millstream/distributed/worker/applied_updates.h"
#include "millstream/distributed/worker/task_exchange.h"
#include "millstream/framework/monitoring/census.h"
#include "millstream/runtime/sessions/session_runtime.h"

namespace millstream {

// What the sessions of one task share.
struct TaskState {
  const DeviceSet* devices = nullptr;
  ThreadPool* pool = nullptr;
  ResourceManager* resources = nullptr;  // of the task: variables that outlive sessions
  Census* census = nullptr;              // of the task; null: nobody looks
};

// A task that a part receives from.
struct FromTask {
  std::string name;  // as the session has it
  uint64_t incarnation = 0;
  std::vector<uint32_t> edges;
};

// A part of a signature, compiled here.
struct TaskPart {
  std::shared_ptr<const Plan> plan;
  EdgeLinks links;  // where its edges go
  std::vector<FromTask> from;
  std::shared_ptr<class TaskSession> session;
  std::shared_ptr<const TrackedUpdates> updates;  // null if it has none that can be passed over
  UsualTime usual_time;                           // for which a run keeps its thread

  // Which updates earlier attempts of this step have applied; null if nobody repeats it.
  StatusOr<std::shared_ptr<StepUpdates>> BeginUpdates(AppliedUpdates& applied, StepIdentity identity,
                                                      ClientSteps::Clock::time_point now);
  // True if values of its steps travel between this task and that incarnation of another one.
  bool Exchanges(const PeerLink& link) const;
  // A link over which they travel has ended. What was on its way is lost, and later values would get lost, too: the
  // part cannot run any more. The first reason counts.
  void Cut(const Status& why);
  // Unavailable once it was cut.
  Status CheckWhole() const;

 private:
  std::atomic<bool> is_cut_{false};
  mutable Mutex cut_mu_;
  Status cut_ ABSL_GUARDED_BY(cut_mu_);
  // Of the first client whose step came: usually there are no others. Set once.
  std::atomic<ClientSteps*> steps_of_client_{nullptr};
  std::shared_ptr<ClientSteps> steps_owner_ ABSL_GUARDED_BY(cut_mu_);
};

// The state that one session of a master has at one task: stateful kernels, functions, and with isolation its own
// resources. Thread-safe.
class TaskSession {
 public:
  // With a cluster of its own, the session has devices of its own, named after that.
  TaskSession(std::string name, const TaskState& task, const SessionOptions& options, SessionCluster cluster,
              bool isolate_state, std::shared_ptr<FunctionLibrary> library);
  ~TaskSession();

  const std::string& name() const { return name_; }
  const SessionCluster& cluster() const { return cluster_; }
  SessionRuntime& runtime() { return runtime_; }
  bool isolates_state() const { return isolated_ != nullptr; }
  // Its steps may leave a pointer to its functions in a resource of the task (iterators have one).
  bool MayBeHeld() const { return isolated_ == nullptr && !runtime_.library()->Names().empty(); }
  // Such a resource exists. Only a step of the session makes one.
  bool is_held() const { return runtime_.functions_are_held(); }

 private:
  const std::string name_;
  const SessionCluster cluster_;
  std::optional<DeviceSet> renamed_;  // with a cluster of its own
  const std::unique_ptr<ResourceManager> isolated_;
  SessionRuntime runtime_;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_WORKER_TASK_SESSION_H_
