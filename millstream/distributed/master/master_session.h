// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SESSION_H_
#define MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SESSION_H_

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "millstream/base/timer_queue.h"
#include "millstream/distributed/master/master_plan.h"
#include "millstream/distributed/master/session_client.h"
#include "millstream/distributed/observer/counters.h"
#include "millstream/distributed/observer/trace_requests.h"
#include "millstream/runtime/sessions/planned_session.h"
#include "millstream/runtime/sessions/step_register.h"

namespace millstream {

struct MasterSessionOptions {
  std::string handle;
  proto::ConfigProto config;
  SessionOptions session;                           // the same, read
  std::vector<std::shared_ptr<ClusterTask>> tasks;  // that it may use; the local one first
  // Others that it may use, which nobody has looked for yet, and how to find some of them: waits until they are up.
  using FindTasks = std::function<StatusOr<std::vector<std::shared_ptr<ClusterTask>>>(
      const std::vector<std::string>& names, Cancellation* cancellation, TimerQueue::Clock::time_point deadline)>;
  std::vector<std::string> absent;
  FindTasks find_tasks;
  TimerQueue* timers = nullptr;
  TraceRequests* traces = nullptr;             // of people who want to see a step; null: nobody
  StepCounters* steps = nullptr;               // null: nobody counts
  TaskObserver* observer = nullptr;            // null: nobody looks
  std::atomic<uint64_t>* next_step = nullptr;  // numbers no other master uses
  size_t max_running = 1 << 14;                // steps at a time; more are ResourceExhausted
  size_t max_signatures = 1 << 16;             // likewise
};

// A session whose graph is spread over tasks: places and cuts the graph, registers the parts, and runs steps on all of
// them. Once a task that it uses is lost, its calls fail with Unavailable or Aborted; whoever owns it opens another.
// Thread-safe.
class MasterSession final : public PlannedSession<std::shared_ptr<const MasterPlan>> {
 public:
  explicit MasterSession(MasterSessionOptions options);
  ~MasterSession() override;

  const std::string& handle() const { return options_.handle; }
  // The name that the master's own task has in this session.
  const std::string& local_task() const { return options_.tasks.front()->name(); }
  bool builds_cost_model() const { return options_.config.graph_options().build_cost_model() > 0; }
  SessionGraph& graph() { return graph_; }
  SessionClient& client() { return client_; }

  // Waits until the tasks that nodes of `graph` ask for are up, before the session's graph is extended by it. Others
  // are never waited for.
  Status AwaitTasksOf(const proto::GraphDef& graph, Cancellation* cancellation);
  Status AwaitTasksOf(const Graph& graph, Cancellation* cancellation);
  // Opens the session at its tasks, before its first step.
  Status OpenAtAll();
  // Looks for the tasks that nobody has needed so far, for a moment; says who is missing.
  void LookForAbsentTasks(Cancellation* cancellation);

  using Session::Run;
  Status Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
             proto::RunMetadata* metadata) override;
  Status RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                     const RunOptions& options, proto::RunMetadata* metadata) override;
  Status Close() override;
  // Ends partial runs: nobody will finish them.
  void GiveUpPartialRuns() { partial_.GiveUp(); }
  // Cancels running steps with `why`; later calls fail with it.
  void Abandon(const Status& why);
  // Numbers of the steps that run; cancels those of them that still do. The session stays usable.
  std::vector<uint64_t> RunningSteps();
  // SignatureWork::total() of the signature that has most of it.
  int64_t MostWork();
  void CancelSteps(const std::set<uint64_t>& steps, const Status& why);

  // A step without a thread that waits for it. `done` is called once, on any thread.
  using StepDone = std::function<void(Status, std::vector<Tensor> outputs)>;
  void RunAsync(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
                const std::vector<std::string>& targets, proto::RunMetadata* metadata, StepDone done);
  void RunCallableAsync(CallableHandle handle, std::vector<Tensor> feeds, const RunOptions& options,
                        proto::RunMetadata* metadata, StepDone done);

 private:
  using PlanPtr = std::shared_ptr<const MasterPlan>;
  class Step;

  StatusOr<PlanPtr> MakePlan(PrunedGraph pruned) override;
  // What is fed and fetched in parts meets the caller in this process, whatever task the rest runs on.
  Status StartPartial(PlanPtr plan, PartialStep* step) override;
  void OnNewSignature() override;
  // InvalidArgument if there is no such callable or it takes another number of feeds.
  StatusOr<PlanPtr> FindCallable(CallableHandle handle, size_t num_feeds) const;
  Status OpenAt(ClusterTask& task);
  Status AwaitTasks(const std::vector<std::string>& names, Cancellation* cancellation,
                    TimerQueue::Clock::time_point deadline);
  std::vector<std::string> Absent() const;
  std::shared_ptr<ClusterTask> TaskNamed(const std::string& name) const;  // null if it has none
  // Cuts the signature once more, for people to look at.
  Status FillPartitionGraphs(const Feeds& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets, proto::RunMetadata* metadata);
  void Start(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args, proto::RunMetadata* metadata,
             bool may_block, Ref<PartialExchange> partial, StepDone done);
  Status RunAndWait(PlanPtr plan, const RunOptions& options, std::vector<Tensor> args, std::vector<Tensor>* outputs,
                    proto::RunMetadata* metadata);

  const MasterSessionOptions options_;
  SessionClient client_;

  mutable Mutex tasks_mu_;
  std::unordered_map<std::string, std::shared_ptr<ClusterTask>> tasks_ ABSL_GUARDED_BY(tasks_mu_);  // by name
  std::vector<std::string> absent_ ABSL_GUARDED_BY(tasks_mu_);

  const std::shared_ptr<TaskAccess> access_ = std::make_shared<TaskAccess>();

  Mutex open_mu_;
  absl::flat_hash_set<std::string> open_at_ ABSL_GUARDED_BY(open_mu_);  // tasks that know this session

  Mutex made_mu_;
  std::vector<std::weak_ptr<const MasterPlan>> made_ ABSL_GUARDED_BY(made_mu_);

  StepRegister<Step> steps_{options_.max_running};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_MASTER_MASTER_SESSION_H_
