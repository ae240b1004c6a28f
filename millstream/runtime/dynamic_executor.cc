// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/flush_denormals.h"
#include "millstream/runtime/run_state.h"
#include "millstream/runtime/step_run.h"

namespace millstream::internal {
namespace {

// One step of a plan without control flow. Ready nodes stay on the thread that made them ready, except expensive ones
// beyond the first.
class DynamicRun : public StepRun<DynamicRun, int32_t> {
 public:
  using StepRun::StepRun;

  void Start() {
    PlaceArgs(*plan_, args_, slots_);
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      pending_[i].store(static_cast<int32_t>(plan_->nodes[i].pending), std::memory_order_relaxed);
    }
    Process(std::span<const int32_t>(plan_->roots));
  }

 private:
  friend class StepRun<DynamicRun, int32_t>;

  static void ProcessTask(void* run, int64_t node) {
    const auto first = static_cast<int32_t>(node);
    static_cast<DynamicRun*>(run)->Process(std::span(&first, 1));
  }

  static void ContinueTask(void* run, int64_t node) {
    const auto first = static_cast<int32_t>(node);
    auto* const self = static_cast<DynamicRun*>(run);
    const ContinuationTimer timer(self->plan_);
    self->Process(std::span(&first, 1));
  }

  void ScheduleAfterWait(int32_t node) { Schedule(&ContinueTask, node); }

  void Schedule(void (*task)(void*, int64_t), int32_t node) {
    active_.fetch_add(1, std::memory_order_relaxed);
    step_.pool->Schedule(ThreadPool::Task{task, this, node});
  }

  // Runs the nodes of `first` and whatever becomes ready. REQUIRES: counted in active_.
  void Process(std::span<const int32_t> first) {
    Ready ready;
    ready.now.reserve(32);
    for (size_t i = first.size(); i-- > 0;) Push(first[i], &ready);
    Drain(&ready);
  }

  void Drain(Ready* ready) {
    const FlushDenormals flush;
    int32_t node;
    while (ready->Pop(&node)) {
      if (MayStart(plan_->nodes[node])) Invoke(node, plan_->nodes[node], ready);
    }
    Leave();
  }

  void DrainHere(Ready* ready) {
    const ContinuationTimer timer(plan_);
    Drain(ready);
  }

  // A thread that lends itself for longer than a wake-up takes keeps what it has, since there is no core for another,
  // but not what might wait for something that only this thread can bring.
  bool HandsOver(const PlanNode& node, bool others_are_ready) const {
    if (step_.pool == nullptr) return false;
    if (ThreadLoan::limit_ns() > kWakeUpNanos) [[unlikely]]
      return node.may_block;
    return others_are_ready && SpreadsNodes(node);
  }

  void Push(int32_t id, Ready* ready) {
    const PlanNode& node = plan_->nodes[id];
    if (node.update) {
      ready->late.push_back(id);
    } else if (HandsOver(node, !ready->now.empty())) {
      Schedule(&ProcessTask, id);
    } else {
      ready->now.push_back(id);
    }
  }

  void Gather(int32_t, const PlanNode& node, Entry** in) {
    for (int i = 0; i < node.num_inputs; ++i) {
      const int32_t slot = plan_->inputs[node.inputs + i];
      in[i] = slot >= 0 ? slots_ + slot : const_cast<Entry*>(&plan_->constants[-1 - slot]);
    }
    for (int i = 0; i < node.num_outputs; ++i) {
      slots_[node.outputs + i].uses.store(plan_->slot_uses[node.outputs + i], std::memory_order_relaxed);
    }
  }

  KernelContext::Frame MakeFrame(int32_t, const PlanNode& node, Entry* const* in, Tensor* derefs) const {
    return FrameOf(node, in, derefs, slots_ + node.outputs);
  }

  void Complete(int32_t id, Entry* const* in, Status status, Ready* ready) {
    const PlanNode& node = plan_->nodes[id];
    Entry* outputs = slots_ + node.outputs;
    if (status.ok()) status = CheckOutputs(*plan_, node, outputs);
    if (!status.ok()) return Abort(AtNode(status, *node.node));
    if (node.fetched) KeepFetchedValues(node, outputs);
    ReleaseValues(node, in, outputs);
    const int32_t* consumer = plan_->consumers.data() + node.consumers;
    for (int i = 0; i < node.num_consumers; ++i) {
      const int32_t c = consumer[i];
      if (plan_->nodes[c].pending == 1 || pending_[c].fetch_sub(1, std::memory_order_acq_rel) == 1) Push(c, ready);
    }
  }

  Status End(Status status) {
    if (status.ok()) status = TakeResults(*plan_, args_, slots_, rets_);
    if (!status.ok()) state_->Clear();
    plan_->ReturnState(std::move(state_));
    return status;
  }

  std::unique_ptr<RunState> state_ = plan_->TakeState();
  Entry* const slots_ = state_->slots.get();
  std::atomic<int32_t>* const pending_ = state_->pending.get();
};

}  // namespace

void RunDynamic(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
                std::vector<Tensor>* rets, std::function<void(Status)> done) {
  if (Status s = CheckArgs(*plan, args); !s.ok()) return done(std::move(s));
  (new DynamicRun(std::move(plan), step, args, rets, std::move(done)))->Start();
}

}  // namespace millstream::internal
