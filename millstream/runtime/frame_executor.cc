// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <optional>

#include "millstream/base/flush_denormals.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/frame_flow.h"
#include "millstream/runtime/invoke.h"

namespace millstream::internal {
namespace {

using Clock = std::chrono::steady_clock;

// A thread that brings values has more to do than the rest of a loop.
constexpr auto kLongestGoOnHere = std::chrono::microseconds(200);

// One step of a plan with branches or loops. Kernels run outside the lock; everything about who is ready is guarded by
// it. Deletes itself when the step is over.
class FrameRun {
 public:
  FrameRun(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
           std::vector<Tensor>* rets, std::function<void(Status)> done)
      : plan_(std::move(plan)),
        step_(step),
        args_(args.begin(), args.end()),
        rets_(rets),
        done_(std::move(done)),
        flow_(*plan_) {}

  void Start() {
    ReadyNodes ready;
    {
      MutexLock lock(mu_);
      flow_.Begin(args_, &ready);
    }
    Drain(&ready);
  }

 private:
  template <typename Run, typename Id>
  friend struct millstream::AsyncCall;
  using Invocation = AsyncCall<FrameRun, ReadyNode>;
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
      if (aborted_.load(std::memory_order_relaxed)) continue;
      if (Status going = CheckGoing(step_); !going.ok()) {
        Abort(std::move(going));
        continue;
      }
      if (ready->now.size() > 0 && NodeOf(item).expensive && !item.dead && step_.pool != nullptr &&
          step_.pool->num_workers() > 0) {
        Dispatch(item, /*goes_on=*/false);
        continue;
      }
      Run(item, ready);
    }
    Leave();
  }

  void Dispatch(const ReadyNode& item, bool goes_on) {
    active_.fetch_add(1, std::memory_order_relaxed);
    step_.pool->Schedule(ThreadPool::Task{[](void* object, int64_t) {
                                            std::unique_ptr<ItemTask> task(static_cast<ItemTask*>(object));
                                            std::optional<GoOnTimer> timer;
                                            if (task->goes_on) timer.emplace(task->run->plan_);
                                            ReadyNodes ready;
                                            ready.now.push_back(task->item);
                                            task->run->Drain(&ready);
                                          },
                                          new ItemTask{this, item, goes_on}, 0});
  }

  void Gather(const ReadyNode& item, Entry** in) {
    const PlanNode& node = NodeOf(item);
    for (int i = 0; i < node.num_inputs; ++i) {
      const int32_t slot = plan_->inputs[node.inputs + i];
      in[i] = slot >= 0 ? Slot(item, slot) : const_cast<Entry*>(&plan_->constants[-1 - slot]);
    }
  }

  KernelContext::Frame MakeFrame(const ReadyNode& item, Entry* const* in, Tensor* derefs) {
    const PlanNode& node = NodeOf(item);
    return {&step_,
            node.device,
            &node.node->op().def,
            &node.node->name(),
            in,
            derefs,
            node.num_inputs,
            Outputs(item, node),
            plan_->slot_types.data() + node.outputs,
            node.num_outputs,
            item.iteration->index,
            item.iteration->tag,
            item.dead};
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
      return Finish(item, nullptr, OkStatus(), ready);
    }
    PrepareOutputs(item, node, false);
    if (node.kind == NodeKind::kMerge) {
      Merge(item);
      return Finish(item, nullptr, OkStatus(), ready);
    }
    if (node.async != nullptr) return RunAsync(item, ready);
    InputPointers pointers(node.num_inputs);
    Entry** in = pointers.data();
    Gather(item, in);
    Status status = InvokeKernel(*plan_, node, step_, in, [&](Tensor* derefs) { return MakeFrame(item, in, derefs); });
    Finish(item, in, std::move(status), ready);
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

  // What is there already (a value received before it was asked for) is handled here, without a turn through the pool.
  void RunAsync(const ReadyNode& item, ReadyNodes* ready) {
    const PlanNode& node = NodeOf(item);
    auto* call = new Invocation(this, item, node.num_inputs);
    Gather(item, call->inputs.data());
    active_.fetch_add(1, std::memory_order_relaxed);
    if (!call->Start(*plan_, node, step_, [&](Tensor* derefs) { return MakeFrame(item, call->inputs.data(), derefs); }))
      return;
    FinishCall(call, ready);
    active_.fetch_sub(1, std::memory_order_relaxed);  // never the last: this loop counts too
  }

  void FinishCall(Invocation* call, ReadyNodes* ready) {
    std::unique_ptr<Invocation> owned(call);
    call->End();
    Finish(call->id, call->inputs.data(), std::move(call->status), ready);
  }

  // On the thread that called back; what became ready runs on the pool, so that the caller returns at once, or here,
  // where that is allowed and usually short.
  void GoOnAfter(Invocation* call) {
    ReadyNodes ready;
    FinishCall(call, &ready);
    if (ready.empty()) return Leave();
    if (step_.pool == nullptr || step_.pool->num_workers() == 0) return Drain(&ready);
    if (GoesOnHere(*plan_)) {
      const GoOnTimer timer(plan_);
      return Drain(&ready, Clock::now() + kLongestGoOnHere);
    }
    ReadyNode item;
    while (ready.Pop(&item)) Dispatch(item, /*goes_on=*/true);
    Leave();
  }

  // What nobody takes must not keep others from writing into the value (a list in a loop that grows).
  void DropUnused(const ReadyNode& item, const PlanNode& node) {
    Entry* outputs = Outputs(item, node);
    for (int i = 0; i < node.num_outputs; ++i) {
      if (plan_->slot_uses[node.outputs + i] > 0) continue;
      outputs[i].tensor.Reset();
      outputs[i].ref = nullptr;
    }
  }

  // After a node ran (or was found dead): checks, releases inputs, tells consumers.
  void Finish(const ReadyNode& item, Entry* const* in, Status status, ReadyNodes* ready) {
    const PlanNode& node = NodeOf(item);
    if (status.ok() && in != nullptr) status = CheckOutputs(node, Outputs(item, node));
    if (!status.ok()) return Abort(AtNode(status, *node.node));
    if (node.fetched && !item.dead && !MovesBetweenIterations(node.kind)) {
      KeepFetchedValues(node, Outputs(item, node));
    }
    if (in != nullptr) {
      DropUnused(item, node);
      for (int i = 0; i < node.num_inputs; ++i) {
        if (plan_->inputs[node.inputs + i] >= 0) ReleaseInput(in[i]);
      }
    }
    MutexLock lock(mu_);
    flow_.Finish(item, ready);
  }

  void Abort(Status status) {
    {
      MutexLock lock(mu_);
      if (status_.ok()) status_ = status;
    }
    aborted_.store(true, std::memory_order_release);
    if (step_.cancellation != nullptr) step_.cancellation->StartCancel(std::move(status));
  }

  void Leave() {
    if (active_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Status status;
    {
      MutexLock lock(mu_);
      status = status_;
      if (status.ok()) status = TakeResults(*plan_, args_, flow_.root_slots(), rets_);
    }
    auto done = std::move(done_);
    delete this;
    done(std::move(status));
  }

  const std::shared_ptr<const Plan> plan_;
  const StepContext& step_;
  const std::vector<Tensor> args_;
  std::vector<Tensor>* const rets_;
  std::function<void(Status)> done_;
  std::atomic<int32_t> active_{1};
  std::atomic<bool> aborted_{false};
  Mutex mu_;
  FrameFlow flow_ ABSL_GUARDED_BY(mu_);
  Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void RunFrames(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets, std::function<void(Status)> done) {
  if (Status s = CheckArgs(*plan, args); !s.ok()) return done(std::move(s));
  (new FrameRun(std::move(plan), step, args, rets, std::move(done)))->Start();
}

}  // namespace millstream::internal
