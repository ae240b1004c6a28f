// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SESSION_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "millstream/base/timer_queue.h"
#include "millstream/distributed/master/cluster_task.h"
#include "millstream/distributed/observer/counters.h"
#include "millstream/distributed/observer/task_observer.h"
#include "millstream/distributed/observer/trace_requests.h"
#include "millstream/runtime/partial_run.h"
#include "millstream/runtime/session.h"
#include "millstream/runtime/session_graph.h"
#include "millstream/runtime/session_plans.h"

namespace millstream {

struct MasterSessionOptions {
  std::string handle;
  proto::ConfigProto config;
  SessionOptions session;                           // the same, read
  std::vector<std::shared_ptr<ClusterTask>> tasks;  // that it may use; the local one first
  TimerQueue* timers = nullptr;
  TraceRequests* traces = nullptr;             // of people who want to see a step; null: nobody
  StepCounters* steps = nullptr;               // null: nobody counts
  TaskObserver* observer = nullptr;            // null: nobody looks
  std::atomic<uint64_t>* next_step = nullptr;  // numbers no other master uses
};

// A session whose graph is spread over tasks: places and cuts the graph, registers the parts, and runs steps on all of
// them. Once a task that it uses is lost, its calls fail with Unavailable or Aborted; whoever owns it opens another.
// Thread-safe.
class MasterSession final : public Session {
 public:
  explicit MasterSession(MasterSessionOptions options);
  ~MasterSession() override;

  const std::string& handle() const { return options_.handle; }
  // The name that the master's own task has in this session.
  const std::string& local_task() const { return options_.tasks.front()->name(); }
  bool builds_cost_model() const { return options_.config.graph_options().build_cost_model() > 0; }
  SessionGraph& graph() { return graph_; }

  Status Create(const proto::GraphDef& graph) override { return graph_.Create(graph); }
  Status Extend(const proto::GraphDef& graph) override { return graph_.Extend(graph); }
  Status Extend(const Graph& graph) override { return graph_.Extend(graph); }
  using Session::Run;
  Status Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
             proto::RunMetadata* metadata) override;
  StatusOr<CallableHandle> MakeCallable(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override;
  Status RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                     const RunOptions& options, proto::RunMetadata* metadata) override;
  Status ReleaseCallable(CallableHandle handle) override;
  StatusOr<std::string> PartialRunSetup(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets) override;
  Status PartialRun(const std::string& handle, const Feeds& feeds, const std::vector<std::string>& fetches,
                    std::vector<Tensor>* outputs) override;
  std::vector<DeviceAttributes> ListDevices() override { return graph_.devices(); }
  Status Close() override;
  // Cancels running steps with `why`; later calls fail with it.
  void Abandon(const Status& why);

  // A step without a thread that waits for it. `done` is called once, on any thread.
  using StepDone = std::function<void(Status, std::vector<Tensor> outputs)>;
  void RunAsync(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                const std::vector<std::string>& targets, proto::RunMetadata* metadata, StepDone done);
  void RunCallableAsync(CallableHandle handle, std::vector<Tensor> feeds, const RunOptions& options,
                        proto::RunMetadata* metadata, StepDone done);

 private:
  // Whether the session's tasks may still be asked for something. A deadline may strike when its step has just ended:
  // Close() waits until nobody is cancelling.
  struct Life {
    Mutex mu;
    CondVar calm;
    bool open ABSL_GUARDED_BY(mu) = true;
    int cancelling ABSL_GUARDED_BY(mu) = 0;
  };
  struct Plan;  // a signature, registered at its tasks
  using PlanPtr = std::shared_ptr<const Plan>;
  class Step;

  StatusOr<PlanPtr> FindPlan(const Feeds& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets);
  StatusOr<PlanPtr> MakePlan(PrunedGraph pruned);
  // InvalidArgument if there is no such callable or it takes another number of feeds.
  StatusOr<PlanPtr> FindCallable(CallableHandle handle, size_t num_feeds) const;
  Status OpenAt(ClusterTask& task);
  // Cuts the signature once more, for people to look at.
  Status FillPartitionGraphs(const Feeds& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets, proto::RunMetadata* metadata);
  void Start(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args, proto::RunMetadata* metadata,
             bool may_block, Ref<PartialExchange> partial, StepDone done);
  Status RunAndWait(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args, std::vector<Tensor>* outputs,
                    proto::RunMetadata* metadata);

  const MasterSessionOptions options_;
  const std::unordered_map<std::string, std::shared_ptr<ClusterTask>> tasks_;  // by name
  SessionGraph graph_;

  SessionPlans<PlanPtr> plans_;

  const std::shared_ptr<Life> life_ = std::make_shared<Life>();

  Mutex open_mu_;
  absl::flat_hash_set<std::string> open_at_ ABSL_GUARDED_BY(open_mu_);  // tasks that know this session

  PartialSteps partial_;

  Mutex steps_mu_;
  CondVar steps_ended_;
  absl::flat_hash_set<Step*> steps_ ABSL_GUARDED_BY(steps_mu_);  // running
  Status closed_ ABSL_GUARDED_BY(steps_mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SESSION_H_
