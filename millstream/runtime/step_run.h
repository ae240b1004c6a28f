// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_STEP_RUN_H_
#define MILLSTREAM_RUNTIME_STEP_RUN_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "millstream/base/mutex.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/invoke.h"
#include "millstream/runtime/ready_queue.h"

namespace millstream::internal {

// One step of a plan whose nodes run when what they wait for has come: what the executors that count share. It calls
// kernels, goes on after those that waited, and ends the step: then it hands the results to `done` and deletes itself.
//
// `active_` counts loops of Drain() that are running or queued, and async kernels that have not called back; the step
// is over when it falls to zero. It begins at one, for the thread that starts the step.
//
// `Item` names a node that is ready. Where values lie and who is ready next is for `Derived` to say (resolved when
// compiled, since every node comes through here):
//   void Gather(const Item&, const PlanNode&, Entry** in): points `in` at the inputs of a node that is about to run.
//   KernelContext::Frame MakeFrame(const Item&, const PlanNode&, Entry* const* in, Tensor* derefs) const
//   void Complete(const Item&, Entry* const* in, Status, Ready*): a kernel has answered; adds who became ready.
//   void Drain(Ready*): runs what is ready and what becomes so, then calls Leave().
//   void DrainHere(Ready*): the same after a wait, timed (ContinuationTimer), on a thread that has something else to
//   do. void ScheduleAfterWait(const Item&): counts one more as active that does so for this node on the pool, timed.
//   Status End(Status): nothing is active any more; takes the results if the step went well.
template <typename Derived, typename Item>
class StepRun {
 public:
  // `step` and `rets` must live until `done` is called.
  StepRun(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
          std::vector<Tensor>* rets, std::function<void(Status)> done)
      : plan_(std::move(plan)), step_(step), args_(args.begin(), args.end()), rets_(rets), done_(std::move(done)) {}
  StepRun(const StepRun&) = delete;
  StepRun& operator=(const StepRun&) = delete;

 protected:
  using Ready = ReadyQueue<Item>;

  ~StepRun() = default;

  // True if this node may start. A step that is cancelled or late is aborted here, unless it has been committed.
  bool MayStart(const PlanNode& node) {
    if (progress_.load(std::memory_order_relaxed) == Progress::kGoing) [[likely]] {
      Status going = CheckGoing(step_);
      if (going.ok()) return !node.commits || Commit();
      Abort(std::move(going));
    }
    return progress_.load(std::memory_order_acquire) == Progress::kCommitted;
  }

  // True if an expensive node should go to another thread while this one has others to run. With a single worker it
  // stays, as in serial plans, unless it may block: kernels split themselves over both threads, whereas a worker that
  // went on with the step would have nobody to help it once the caller has nothing left to do but wait.
  bool SpreadsNodes(const PlanNode& node) const {
    return node.expensive && step_.pool != nullptr &&
           (step_.pool->num_workers() > 1 || (node.may_block && step_.pool->num_workers() > 0));
  }

  // Calls the kernel of a node; Complete() follows, at once or when the kernel has its answer. Inlined, since a call
  // more for each node makes small loops 2 % slower.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Invoke(const Item& item, const PlanNode& node, Ready* ready) {
    if (node.async != nullptr) return InvokeAsync(item, node, ready);
    InputPointers pointers(node.num_inputs);
    Entry** in = pointers.data();
    self().Gather(item, node, in);
    const auto make_frame = [&](Tensor* derefs) { return self().MakeFrame(item, node, in, derefs); };
    self().Complete(item, in, InvokeKernel(*plan_, node, step_, in, make_frame), ready);
  }

  // The frame of a kernel's context; the last three are of loops and branches.
  KernelContext::Frame FrameOf(const PlanNode& node, Entry* const* in, Tensor* derefs, Entry* outputs,
                               int64_t frame_iter = 0, uint64_t tag = 0, bool dead = false) const {
    return {&step_,
            node.device,
            &node.node->op().def,
            &node.node->name(),
            in,
            derefs,
            node.num_inputs,
            outputs,
            plan_->slot_types.data() + node.outputs,
            node.num_outputs,
            frame_iter,
            tag,
            dead};
  }

  // After a kernel: hands back its inputs, and drops what nobody takes, which must not keep others from writing into
  // the value (a list in a loop that grows).
  void ReleaseValues(const PlanNode& node, Entry* const* in, Entry* outputs) {
    for (int i = 0; i < node.num_outputs; ++i) {
      if (plan_->slot_uses[node.outputs + i] > 0) continue;
      outputs[i].tensor.Reset();
      outputs[i].ref = nullptr;
    }
    for (int i = 0; i < node.num_inputs; ++i) {
      if (plan_->inputs[node.inputs + i] >= 0) ReleaseInput(in[i]);
    }
  }

  // The first error is the step's; what waits is cancelled. A step that has been committed still runs all nodes that do
  // not wait for one that failed.
  void Abort(Status status) {
    {
      MutexLock lock(mu_);
      if (status_.ok()) status_ = status;
    }
    Progress going = Progress::kGoing;
    progress_.compare_exchange_strong(going, Progress::kAborted, std::memory_order_acq_rel);
    if (step_.cancellation != nullptr) step_.cancellation->StartCancel(std::move(status));
  }

  // One less is active. The last ends the step: nothing of this may be touched afterwards.
  void Leave() {
    if (active_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Status status;
    {
      MutexLock lock(mu_);
      status = std::move(status_);
    }
    status = self().End(std::move(status));
    auto done = std::move(done_);
    delete &self();
    done(std::move(status));
  }

  const std::shared_ptr<const Plan> plan_;
  const StepContext& step_;
  const std::vector<Tensor> args_;
  std::vector<Tensor>* const rets_;
  std::atomic<int32_t> active_{1};
  Mutex mu_;

 private:
  template <typename Run, typename Id>
  friend struct millstream::AsyncCall;
  using Invocation = AsyncCall<StepRun, Item>;
  enum class Progress : uint8_t { kGoing, kAborted, kCommitted };  // one of the last two for good

  Derived& self() { return static_cast<Derived&>(*this); }

  // What is there already (a value received before it was asked for) is handled here, without a turn through the pool.
  void InvokeAsync(const Item& item, const PlanNode& node, Ready* ready) {
    auto* call = new Invocation(this, item, node.num_inputs);
    self().Gather(item, node, call->inputs.data());
    active_.fetch_add(1, std::memory_order_relaxed);
    const auto make_frame = [&](Tensor* derefs) { return self().MakeFrame(item, node, call->inputs.data(), derefs); };
    if (!call->Start(*plan_, node, step_, make_frame)) return;
    FinishCall(call, ready);
    active_.fetch_sub(1, std::memory_order_relaxed);  // never the last: this loop counts too
  }

  void FinishCall(Invocation* call, Ready* ready) {
    std::unique_ptr<Invocation> owned(call);
    call->End();
    self().Complete(call->id, call->inputs.data(), std::move(call->status), ready);
  }

  // On whatever thread the kernel called back: goes on with what became ready, on the pool where there is one, so that
  // the caller (which may hold a lock of its queue) returns at once; or here, where that is allowed and usually short.
  void ContinueAfter(Invocation* call) {
    const AllocationsMayFail never(false);  // a kernel of another step may have called
    Ready ready;
    FinishCall(call, &ready);
    if (step_.pool == nullptr || step_.pool->num_workers() == 0) return self().Drain(&ready);
    if (MayContinueHere(*plan_)) return self().DrainHere(&ready);
    Item item;
    while (ready.Pop(&item)) self().ScheduleAfterWait(item);
    Leave();
  }

  // From now on the step is not stopped. False if it has been.
  bool Commit() {
    Progress was = Progress::kGoing;
    return progress_.compare_exchange_strong(was, Progress::kCommitted, std::memory_order_acq_rel) ||
           was == Progress::kCommitted;
  }

  std::function<void(Status)> done_;
  std::atomic<Progress> progress_{Progress::kGoing};
  Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream::internal

#endif  // MILLSTREAM_RUNTIME_STEP_RUN_H_
