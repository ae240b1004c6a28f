// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_SESSIONS_LOCAL_SESSION_H_
#define MILLSTREAM_RUNTIME_SESSIONS_LOCAL_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/runtime/sessions/planned_session.h"
#include "millstream/runtime/sessions/session_runtime.h"
#include "millstream/runtime/sessions/step_register.h"

namespace millstream {

// The session behind NewSession(): graph, devices, state and plans in this process.
class LocalSession final : public PlannedSession<std::shared_ptr<const Plan>> {
 public:
  explicit LocalSession(const SessionOptions& options);
  ~LocalSession() override;

  using Session::Run;
  Status Run(const RunOptions& options, const Feeds& feeds, const std::vector<std::string>& fetches,
             const std::vector<std::string>& targets, std::vector<Tensor>* outputs,
             proto::RunMetadata* metadata) override;
  Status RunCallable(CallableHandle handle, const std::vector<Tensor>& feeds, std::vector<Tensor>* outputs,
                     const RunOptions& options, proto::RunMetadata* metadata) override;
  Status Close() override;

 private:
  using PlanPtr = std::shared_ptr<const Plan>;
  // The threads and devices, which the base class must know before it is made.
  struct Host;
  // A call of Run(), registered from its construction to its end, so that Close() can cancel and await it.
  class RunningStep;

  LocalSession(const SessionOptions& options, std::unique_ptr<Host> host);
  StatusOr<PlanPtr> MakePlan(PrunedGraph pruned) override { return runtime_.PlaceAndCompile(std::move(pruned)); }
  Status StartPartial(PlanPtr plan, PartialStep* step) override;
  StepContext NewStep();
  Status RunPlanStep(const PlanPtr& plan, const RunOptions& options, std::span<const Tensor> args,
                     std::vector<Tensor>* outputs, proto::RunMetadata* metadata);

  const std::unique_ptr<Host> host_;
  ResourceManager resources_;
  SessionRuntime runtime_;

  std::atomic<int64_t> next_step_{1};
  StepRegister<RunningStep> steps_;
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_SESSIONS_LOCAL_SESSION_H_
