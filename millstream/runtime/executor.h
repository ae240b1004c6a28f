// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_EXECUTOR_H_
#define MILLSTREAM_RUNTIME_EXECUTOR_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "millstream/runtime/plan.h"

namespace millstream {

// Runs one step of a plan. `args` fill the plan's arguments in order and are shared, never changed; `rets` receives its
// results. The first error stops the step: nothing new starts, what waits is cancelled through step.cancellation, and
// the call returns (or `done` is called) when everything that was running has ended.
//
// There are four executors behind these calls: a serial one for plans whose ops are cheap or split themselves over the
// pool, one with pending counts for plans with ops that wait or run side by side, one with frames for plans with
// branches and loops (frame_flow.h), and one that records what an accelerator does (recorded_steps.h).
Status RunPlan(const std::shared_ptr<const Plan>& plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets);
// Never blocks longer than the plan's own kernels do. `step` and `rets` must live until `done` is called.
void RunPlanAsync(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
                  std::vector<Tensor>* rets, std::function<void(Status)> done);

namespace internal {

// Times how long a step that had waited keeps its thread when it continues, for MayContinueHere(). Keeps the plan: the
// step may end meanwhile.
class ContinuationTimer {
 public:
  explicit ContinuationTimer(std::shared_ptr<const Plan> plan)
      : plan_(std::move(plan)), watch_(plan_->usual_continuation) {}
  ~ContinuationTimer() { watch_.Stop(&plan_->usual_continuation); }
  ContinuationTimer(const ContinuationTimer&) = delete;
  ContinuationTimer& operator=(const ContinuationTimer&) = delete;

 private:
  const std::shared_ptr<const Plan> plan_;
  RunWatch watch_;
};

// True if a step that waited should continue on this thread: the thread is lent, and the rest usually takes no longer
// than the loan allows. Loops and branches must be shorter than waking another thread, whatever the limit.
bool MayContinueHere(const Plan& plan);

// Checks number and types of `args`.
Status CheckArgs(const Plan& plan, std::span<const Tensor> args);
// Puts arguments into their slots.
void PlaceArgs(const Plan& plan, std::span<const Tensor> args, Entry* slots);
// A fetched reference is read as soon as its producer has run; but a variable that is fetched beside its update shows
// the value after it, as in TensorFlow.
void KeepFetchedValues(const PlanNode& node, Entry* outputs);
// Moves the results out of the slots. REQUIRES: the step succeeded.
Status TakeResults(const Plan& plan, std::span<const Tensor> args, Entry* slots, std::vector<Tensor>* rets);

void RunDynamic(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
                std::vector<Tensor>* rets, std::function<void(Status)> done);
void RunFrames(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets, std::function<void(Status)> done);

}  // namespace internal
}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_EXECUTOR_H_
