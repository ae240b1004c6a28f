// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_LOCAL_SESSION_H_
#define MILLSTREAM_RUNTIME_LOCAL_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/runtime/local_functions.h"
#include "millstream/runtime/partial_run.h"
#include "millstream/runtime/session.h"
#include "millstream/runtime/session_graph.h"
#include "millstream/runtime/session_plans.h"

namespace millstream {

// The session behind NewSession(): graph, devices, state and plans in this process.
class LocalSession final : public Session {
 public:
  explicit LocalSession(const SessionOptions& options);
  ~LocalSession() override;

  Status Create(const proto::GraphDef& graph) override;
  Status Extend(const proto::GraphDef& graph) override;
  Status Extend(const Graph& graph) override;
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
  std::vector<DeviceAttributes> ListDevices() override;
  Status Close() override;

 private:
  using PlanPtr = std::shared_ptr<const Plan>;
  // Registers a running step, so that Close() can cancel and await it.
  class RunningStep;

  StatusOr<PlanPtr> FindPlan(const Feeds& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets);
  StepContext NewStep();
  StatusOr<PlanPtr> MakePlan(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                             const std::vector<std::string>& targets);
  Status Prepare(PrunedGraph* pruned);
  Status RunPlanStep(const PlanPtr& plan, const RunOptions& options, std::span<const Tensor> args,
                     std::vector<Tensor>* outputs, proto::RunMetadata* metadata);
  Device* FindDevice(absl::string_view name) const;
  CompileOptions MakeCompileOptions();

  const SessionOptions options_;
  std::unique_ptr<ThreadPool> intra_pool_;
  std::unique_ptr<ThreadPool> inter_pool_;  // null: the intra-op pool serves both
  std::vector<std::unique_ptr<Device>> devices_;
  ResourceManager resources_;
  KernelCache kernels_;
  std::unique_ptr<LocalFunctions> functions_;

  std::unique_ptr<SessionGraph> graph_;

  SessionPlans<PlanPtr> plans_;

  PartialSteps partial_;

  std::atomic<int64_t> next_step_{1};
  Mutex steps_mu_;
  CondVar steps_ended_;
  std::vector<Cancellation*> steps_ ABSL_GUARDED_BY(steps_mu_);  // of running steps
  bool closed_ ABSL_GUARDED_BY(steps_mu_) = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_LOCAL_SESSION_H_
