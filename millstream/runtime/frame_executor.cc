// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <optional>

#include "millstream/base/flush_denormals.h"
#include "millstream/runtime/frame_flow.h"
#include "millstream/runtime/step_run.h"

namespace millstream::internal {
namespace {

using Clock = std::chrono::steady_clock;

// One step of a plan with branches or loops. Kernels run outside the lock; everything about who is ready is guarded by
// it.
class FrameRun : public StepRun<FrameRun, ReadyNode> {
 public:
  using StepRun::StepRun;

  void Start() {
    ReadyNodes ready;
    {
      MutexLock lock(mu_);
      flow_.Begin(args_, &ready);
    }
    Drain(&ready);
  }

 private:
  friend class StepRun<FrameRun, ReadyNode>;
  struct ItemTask {
    FrameRun* run;
    ReadyNode item;
    bool goes_on;  // after a wait
  };

  const PlanNode& NodeOf(const ReadyNode& item) const { return plan_->nodes[item.node]; }
  Entry* Slot(const ReadyNode& item, int32_t slot) const { return SlotIn(*plan_, item.iteration, slot); }
  Entry* Outputs(const ReadyNode& item, const PlanNode& node) const { return OutputsIn(*plan_, item.iteration, node); }

  // Runs ready items until there are none; from `until` on, other threads do. REQUIRES: this loop is counted in
  // active_.
  void Drain(ReadyNodes* ready, Clock::time_point until = Clock::time_point::max()) {
    const FlushDenormals flush;
    ReadyNode item;
    while (ready->Pop(&item)) {
      if (until != Clock::time_point::max() && Clock::now() > until) {
        Dispatch(item, /*goes_on=*/true);
        continue;
      }
      if (!MayStart(NodeOf(item))) continue;
      if (ready->now.size() > 0 && !item.dead && SpreadsNodes(NodeOf(item))) {
        Dispatch(item, /*goes_on=*/false);
        continue;
      }
      Run(item, ready);
    }
    Leave();
  }

  void DrainHere(ReadyNodes* ready) {
    if (ready->empty()) return Leave();  // nothing to time
    const ContinuationTimer timer(plan_);
    // A thread that brings values has more to do than the rest of a loop.
    Drain(ready, Clock::now() + std::chrono::nanoseconds(kLongestLoanNanos));
  }

  void ScheduleAfterWait(const ReadyNode& item) { Dispatch(item, /*goes_on=*/true); }

  void Dispatch(const ReadyNode& item, bool goes_on) {
    active_.fetch_add(1, std::memory_order_relaxed);
    step_.pool->Schedule(ThreadPool::Task{[](void* object, int64_t) {
                                            std::unique_ptr<ItemTask> task(static_cast<ItemTask*>(object));
                                            std::optional<ContinuationTimer> timer;
                                            if (task->goes_on) timer.emplace(task->run->plan_);
                                            ReadyNodes ready;
                                            ready.now.push_back(task->item);
                                            task->run->Drain(&ready);
                                          },
                                          new ItemTask{this, item, goes_on}, 0});
  }

  void Gather(const ReadyNode& item, const PlanNode& node, Entry** in) {
    for (int i = 0; i < node.num_inputs; ++i) {
      const int32_t slot = plan_->inputs[node.inputs + i];
      in[i] = slot >= 0 ? Slot(item, slot) : const_cast<Entry*>(&plan_->constants[-1 - slot]);
    }
  }

  KernelContext::Frame MakeFrame(const ReadyNode& item, const PlanNode& node, Entry* const* in, Tensor* derefs) const {
    return FrameOf(node, in, derefs, Outputs(item, node), item.iteration->index, item.iteration->tag, item.dead);
  }

  void PrepareOutputs(const ReadyNode& item, const PlanNode& node, bool dead) {
    Entry* outputs = Outputs(item, node);
    for (int i = 0; i < node.num_outputs; ++i) {
      outputs[i].uses.store(plan_->slot_uses[node.outputs + i], std::memory_order_relaxed);
      outputs[i].dead = dead;
    }
  }

  void Run(const ReadyNode& item, ReadyNodes* ready) {
    const PlanNode& node = NodeOf(item);
    if ((item.dead && node.kind != NodeKind::kSend) || MovesBetweenIterations(node.kind)) {
      if (!MovesBetweenIterations(node.kind)) PrepareOutputs(item, node, /*dead=*/true);
      return Complete(item, nullptr, OkStatus(), ready);
    }
    PrepareOutputs(item, node, false);
    if (node.kind == NodeKind::kMerge) {
      Merge(item);
      return Complete(item, nullptr, OkStatus(), ready);
    }
    Invoke(item, node, ready);
  }

  void Merge(const ReadyNode& item) {
    const PlanNode& node = NodeOf(item);
    int live;
    {
      MutexLock lock(mu_);
      live = flow_.LiveInput(item);
    }
    const int32_t slot = plan_->inputs[node.inputs + live];
    const Entry& from = slot >= 0 ? *Slot(item, slot) : plan_->constants[-1 - slot];
    Entry* outputs = Outputs(item, node);
    outputs[0].tensor = from.tensor;
    outputs[0].ref = from.ref;
    // Not held twice: whoever uses the value next may be its only user, and write into it.
    if (slot >= 0) ReleaseInput(Slot(item, slot));
    if (node.num_outputs > 1 && plan_->slot_uses[node.outputs + 1] > 0)
      outputs[1].tensor = Tensor::Scalar<int32_t>(live);
  }

  // After a node ran (or was found dead): checks, releases inputs, tells consumers.
  void Complete(const ReadyNode& item, Entry* const* in, Status status, ReadyNodes* ready) {
    const PlanNode& node = NodeOf(item);
    if (status.ok() && in != nullptr) status = CheckOutputs(*plan_, node, Outputs(item, node));
    if (!status.ok()) return Abort(AtNode(status, *node.node));
    if (node.fetched && !item.dead && !MovesBetweenIterations(node.kind)) {
      KeepFetchedValues(node, Outputs(item, node));
    }
    if (in != nullptr) ReleaseValues(node, in, Outputs(item, node));
    MutexLock lock(mu_);
    flow_.Finish(item, ready);
  }

  Status End(Status status) {
    if (!status.ok()) return status;
    MutexLock lock(mu_);
    return TakeResults(*plan_, args_, flow_.root_slots(), rets_);
  }

  FrameFlow flow_ ABSL_GUARDED_BY(mu_){*plan_};
};

}  // namespace

void RunFrames(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets, std::function<void(Status)> done) {
  if (Status s = CheckArgs(*plan, args); !s.ok()) return done(std::move(s));
  (new FrameRun(std::move(plan), step, args, rets, std::move(done)))->Start();
}

}  // namespace millstream::internal
