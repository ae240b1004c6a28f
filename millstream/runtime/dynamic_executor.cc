// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/match.h"
#include "millstream/base/flush_denormals.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/invoke.h"
#include "millstream/runtime/run_state.h"

namespace millstream::internal {
namespace {

// Runs code of the user's, calls a function, which may do so, or is long for what it does outside (files): nobody knows
// what that waits for.
bool MayWait(const PlanNode& plan_node) {
  const Node& node = *plan_node.node;
  const OpDef& def = node.op().def;
  return (plan_node.expensive && node.IsStateful()) || absl::StrContains(def.name, "PyFunc") ||
         std::any_of(def.attrs.begin(), def.attrs.end(),
                     [](const AttrDef& attr) { return absl::StrContains(attr.type, "func"); });
}

// One step of a plan without control flow, driven by pending counts. Deletes itself when the step is over.
//
// `active_` counts loops of Process() that are running or queued, and async kernels that have not called back; the step
// is over when it falls to zero. Ready nodes stay on the thread that made them ready, except expensive ones beyond the
// first.
class DynamicRun {
 public:
  DynamicRun(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
             std::vector<Tensor>* rets, std::function<void(Status)> done)
      : plan_(std::move(plan)),
        step_(step),
        args_(args.begin(), args.end()),
        rets_(rets),
        done_(std::move(done)),
        state_(plan_->TakeState()),
        slots_(state_->slots.get()),
        pending_(state_->pending.get()) {}

  void Start() {
    PlaceArgs(*plan_, args_, slots_);
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      pending_[i].store(static_cast<int32_t>(plan_->nodes[i].pending), std::memory_order_relaxed);
    }
    Process(std::span<const int32_t>(plan_->roots));
  }

 private:
  // Ready nodes of one Process() loop: updates wait until nothing else is left.
  struct Ready {
    std::vector<int32_t> now;
    std::vector<int32_t> late;
    bool Pop(int32_t* node) {
      std::vector<int32_t>& from = now.empty() ? late : now;
      if (from.empty()) return false;
      *node = from.back();
      from.pop_back();
      return true;
    }
  };

  template <typename Run, typename Id>
  friend struct millstream::AsyncCall;
  using Invocation = AsyncCall<DynamicRun, int32_t>;

  static void ProcessTask(void* run, int64_t node) {
    const auto first = static_cast<int32_t>(node);
    static_cast<DynamicRun*>(run)->Process(std::span(&first, 1));
  }

  static void GoOnTask(void* run, int64_t node) {
    const auto first = static_cast<int32_t>(node);
    auto* const self = static_cast<DynamicRun*>(run);
    const GoOnTimer timer(self->plan_);
    self->Process(std::span(&first, 1));
  }

  // Runs the nodes of `first` and whatever becomes ready. REQUIRES: counted in active_.
  void Process(std::span<const int32_t> first) {
    Ready ready;
    ready.now.reserve(32);
    for (size_t i = first.size(); i-- > 0;) Push(first[i], &ready);
    Drain(&ready);
  }

  void Drain(Ready* going) {
    const FlushDenormals flush;
    Ready& ready = *going;
    int32_t node;
    while (ready.Pop(&node)) {
      if (aborted_.load(std::memory_order_relaxed)) continue;
      if (Status going = CheckGoing(step_); !going.ok()) {
        Abort(std::move(going));
        continue;
      }
      Run(node, &ready);
    }
    Leave();
  }

  // A thread that lends itself for longer than a wake-up takes keeps what it has, since there is no core for another,
  // but not what might wait for something that only this thread can bring.
  bool HandsOver(const PlanNode& node, bool others_are_ready) const {
    if (step_.pool == nullptr) return false;
    if (GoOnHere::limit() > GoOnHere::kWakeUpNanos) [[unlikely]]
      return MayWait(node);
    return node.expensive && others_are_ready;
  }

  void Push(int32_t id, Ready* ready) {
    const PlanNode& node = plan_->nodes[id];
    if (node.update) {
      ready->late.push_back(id);
    } else if (HandsOver(node, !ready->now.empty())) {
      active_.fetch_add(1, std::memory_order_relaxed);
      step_.pool->Schedule(ThreadPool::Task{&ProcessTask, this, id});
    } else {
      ready->now.push_back(id);
    }
  }

  void Gather(const PlanNode& node, Entry** in) {
    for (int i = 0; i < node.num_inputs; ++i) {
      const int32_t slot = plan_->inputs[node.inputs + i];
      in[i] = slot >= 0 ? slots_ + slot : const_cast<Entry*>(&plan_->constants[-1 - slot]);
    }
    for (int i = 0; i < node.num_outputs; ++i) {
      slots_[node.outputs + i].uses.store(plan_->slot_uses[node.outputs + i], std::memory_order_relaxed);
    }
  }

  KernelContext::Frame MakeFrame(const PlanNode& node, Entry* const* in, Tensor* derefs) {
    return {&step_,
            node.device,
            &node.node->op().def,
            &node.node->name(),
            in,
            derefs,
            node.num_inputs,
            slots_ + node.outputs,
            plan_->slot_types.data() + node.outputs,
            node.num_outputs};
  }

  void Run(int32_t id, Ready* ready) {
    const PlanNode& node = plan_->nodes[id];
    if (node.async != nullptr) return RunAsync(id, ready);
    InputPointers pointers(node.num_inputs);
    Entry** in = pointers.data();
    Gather(node, in);
    Status status = InvokeKernel(*plan_, node, step_, in, [&](Tensor* derefs) { return MakeFrame(node, in, derefs); });
    Complete(id, in, std::move(status), ready);
  }

  // What is there already (a value received before it was asked for) is handled here, without a turn through the pool.
  void RunAsync(int32_t id, Ready* ready) {
    const PlanNode& node = plan_->nodes[id];
    auto* call = new Invocation(this, id, node.num_inputs);
    Gather(node, call->inputs.data());
    active_.fetch_add(1, std::memory_order_relaxed);
    if (!call->Start(*plan_, node, step_, [&](Tensor* derefs) { return MakeFrame(node, call->inputs.data(), derefs); }))
      return;
    FinishCall(call, ready);
    active_.fetch_sub(1, std::memory_order_relaxed);  // never the last: this loop counts too
  }

  void FinishCall(Invocation* call, Ready* ready) {
    std::unique_ptr<Invocation> owned(call);
    call->End();
    Complete(call->id, call->inputs.data(), std::move(call->status), ready);
  }

  // On whatever thread the kernel called back: goes on with what became ready, on the pool where there is one, so that
  // the caller (which may hold a lock of its queue) returns at once; or here, where that is allowed and usually short.
  void GoOnAfter(Invocation* call) {
    Ready ready;
    FinishCall(call, &ready);
    if (step_.pool == nullptr || step_.pool->num_workers() == 0) return Drain(&ready);
    if (GoesOnHere(*plan_)) {
      const GoOnTimer timer(plan_);
      return Drain(&ready);
    }
    int32_t node;
    while (ready.Pop(&node)) {
      active_.fetch_add(1, std::memory_order_relaxed);
      step_.pool->Schedule(ThreadPool::Task{&GoOnTask, this, node});
    }
    Leave();
  }

  void Complete(int32_t id, Entry* const* in, Status status, Ready* ready) {
    const PlanNode& node = plan_->nodes[id];
    Entry* outputs = slots_ + node.outputs;
    if (status.ok()) status = CheckOutputs(node, outputs);
    if (!status.ok()) return Abort(AtNode(status, *node.node));
    if (node.fetched) KeepFetchedValues(node, outputs);
    for (int i = 0; i < node.num_outputs; ++i) {
      if (plan_->slot_uses[node.outputs + i] == 0) {
        outputs[i].tensor.Reset();
        outputs[i].ref = nullptr;
      }
    }
    for (int i = 0; i < node.num_inputs; ++i) {
      if (plan_->inputs[node.inputs + i] >= 0) ReleaseInput(in[i]);
    }
    const int32_t* consumer = plan_->consumers.data() + node.consumers;
    for (int i = 0; i < node.num_consumers; ++i) {
      const int32_t c = consumer[i];
      if (plan_->nodes[c].pending == 1 || pending_[c].fetch_sub(1, std::memory_order_acq_rel) == 1) Push(c, ready);
    }
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
      status = std::move(status_);
    }
    if (status.ok()) status = TakeResults(*plan_, args_, slots_, rets_);
    if (!status.ok()) state_->Clear();
    plan_->ReturnState(std::move(state_));
    auto done = std::move(done_);
    delete this;
    done(std::move(status));
  }

  const std::shared_ptr<const Plan> plan_;
  const StepContext& step_;
  const std::vector<Tensor> args_;
  std::vector<Tensor>* const rets_;
  std::function<void(Status)> done_;
  std::unique_ptr<RunState> state_;
  Entry* const slots_;
  std::atomic<int32_t>* const pending_;
  std::atomic<int32_t> active_{1};
  std::atomic<bool> aborted_{false};
  Mutex mu_;
  Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void RunDynamic(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
                std::vector<Tensor>* rets, std::function<void(Status)> done) {
  if (Status s = CheckArgs(*plan, args); !s.ok()) return done(std::move(s));
  (new DynamicRun(std::move(plan), step, args, rets, std::move(done)))->Start();
}

}  // namespace millstream::internal
