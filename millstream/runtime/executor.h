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
// There are three executors behind these calls: a serial one for plans whose ops are cheap or split themselves over the
// pool, one with pending counts for plans with ops that wait or run side by side, and one with frames for plans with
// branches and loops (frame_flow.h).
Status RunPlan(const std::shared_ptr<const Plan>& plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets);
// Never blocks longer than the plan's own kernels do. `step` and `rets` must live until `done` is called.
void RunPlanAsync(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
                  std::vector<Tensor>* rets, std::function<void(Status)> done);

// While one lives, a step that waited may go on where its wait ended, on this thread, if what it does then usually
// takes less than `limit_nanos`: waking another thread takes longer, or there is no core for it. For threads that bring
// values from elsewhere and hold no lock.
class GoOnHere {
 public:
  explicit GoOnHere(int64_t limit_nanos) : outer_(limit_) { limit_ = limit_nanos; }
  ~GoOnHere() { limit_ = outer_; }
  GoOnHere(const GoOnHere&) = delete;
  GoOnHere& operator=(const GoOnHere&) = delete;
  // 0: not allowed.
  static int64_t limit() { return limit_; }

  static constexpr int64_t kWakeUpNanos = 20'000;  // about what waking a thread takes

 private:
  static thread_local int64_t limit_;
  const int64_t outer_;
};

namespace internal {

// Times how long a step that had waited keeps its thread when it goes on, for GoesOnHere(). Keeps the plan: the step
// may end meanwhile.
class GoOnTimer {
 public:
  explicit GoOnTimer(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)), watch_(plan_->usual_go_on) {}
  ~GoOnTimer() { watch_.Stop(&plan_->usual_go_on); }
  GoOnTimer(const GoOnTimer&) = delete;
  GoOnTimer& operator=(const GoOnTimer&) = delete;

 private:
  const std::shared_ptr<const Plan> plan_;
  RunWatch watch_;
};

// True if a step that waited should go on on this thread: that is allowed, and usually short enough. Loops and branches
// must be shorter than waking another thread, whatever the limit.
bool GoesOnHere(const Plan& plan);

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
