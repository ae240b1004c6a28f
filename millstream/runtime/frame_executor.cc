// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "millstream/runtime/executor.h"
#include "millstream/runtime/invoke.h"

namespace millstream::internal {
namespace {

using Clock = std::chrono::steady_clock;

// A thread that brings values has more to do than the rest of a loop.
constexpr auto kLongestGoOnHere = std::chrono::microseconds(200);

struct Frame;

// One iteration of a loop (or the whole plan, for frame 0): values and what nodes still wait for.
struct Iteration {
  Frame* frame = nullptr;
  Iteration* next = nullptr;  // the one after it, if it has begun; or the next unused one
  int64_t index = 0;
  uint64_t tag = 0;  // names this iteration across tasks
  std::unique_ptr<Entry[]> slots;
  std::vector<NodeWait> waits;
  int outstanding = 0;  // nodes that are ready or running
  int children = 0;     // loops begun in this iteration that have not ended
};

struct PendingValue {
  int32_t node;
  Tensor tensor;
  Ref<Variable> ref;
};

// One run of a loop.
struct Frame {
  int32_t id = 0;
  const PlanFrame* info = nullptr;
  Iteration* parent = nullptr;
  // Those in flight are a list. One that is over is used again, so that a loop allocates no more than it has in flight.
  Iteration* oldest = nullptr;
  Iteration* newest = nullptr;
  Iteration* unused = nullptr;
  int32_t in_flight = 0;
  std::vector<std::unique_ptr<Iteration>> iterations;  // owns all of them
  int64_t next_index = 0;
  int enters_left = 0;
  struct Invariant {
    int32_t node;
    Tensor tensor;
    Ref<Variable> ref;
    bool dead;
  };
  std::vector<Invariant> invariants;
  std::vector<PendingValue> waiting;    // for the iteration that must wait for an older one to end
  std::vector<PendingValue> beginning;  // those values, while it begins
  std::vector<bool> exit_live;
  std::vector<std::unique_ptr<Frame>> children;  // owned by the parent frame
};

// Mixes what names an iteration: the iteration around its loop, the loop, its number. Never 0, which means no loop.
uint64_t TagOf(const Frame& frame, int64_t index) {
  uint64_t tag = frame.parent->tag ^ frame.info->name_hash;
  tag = (tag + static_cast<uint64_t>(index) + 1) * 0x9e3779b97f4a7c15ull;
  tag = (tag ^ (tag >> 29)) * 0xbf58476d1ce4e5b9ull;
  return (tag ^ (tag >> 32)) | 1;
}

struct Item {
  int32_t node;
  Iteration* iteration;
  bool dead;
};

struct Ready {
  std::vector<Item> now;
  std::vector<Item> late;
  bool empty() const { return now.empty() && late.empty(); }
  bool Pop(Item* item) {
    std::vector<Item>& from = now.empty() ? late : now;
    if (from.empty()) return false;
    *item = from.back();
    from.pop_back();
    return true;
  }
};

// One step of a plan with branches or loops. Kernels run outside the lock; everything about who is ready, and frames
// and iterations themselves, is guarded by it. Deletes itself when the step is over.
class FrameRun {
 public:
  FrameRun(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
           std::vector<Tensor>* rets, std::function<void(Status)> done)
      : plan_(std::move(plan)), step_(step), args_(args.begin(), args.end()), rets_(rets), done_(std::move(done)) {}

  void Start() {
    Ready ready;
    {
      MutexLock lock(mu_);
      root_ = std::make_unique<Frame>();
      root_->info = &plan_->frames[0];
      Iteration* it = NewIteration(root_.get());
      for (size_t i = 0; i < args_.size(); ++i) {
        Entry& e = it->slots[plan_->slot_in_frame[plan_->arg_slots[i]]];
        e.tensor = args_[i];
        e.uses.store(plan_->slot_uses[plan_->arg_slots[i]], std::memory_order_relaxed);
      }
      const auto& nodes = plan_->frames[0].nodes;
      for (size_t k = nodes.size(); k-- > 0;) {
        NodeWait& wait = it->waits[k];
        const bool merge = plan_->nodes[nodes[k]].kind == NodeKind::kMerge;
        if (wait.pending == 0 && (!merge || wait.live >= 0)) MakeReady(nodes[k], it, false, &ready);
      }
    }
    Drain(&ready);
  }

 private:
  template <typename Run, typename Id>
  friend struct millstream::AsyncCall;
  using Invocation = AsyncCall<FrameRun, Item>;
  struct ItemTask {
    FrameRun* run;
    Item item;
    bool goes_on;  // after a wait
  };

  const PlanNode& NodeOf(const Item& item) const { return plan_->nodes[item.node]; }
  Entry* Slot(Iteration* it, int32_t slot) const { return &it->slots[plan_->slot_in_frame[slot]]; }
  // The outputs of one node lie side by side in their frame.
  Entry* Outputs(Iteration* it, const PlanNode& node) const {
    return node.num_outputs == 0 ? nullptr : Slot(it, node.outputs);
  }

  // Runs ready items until there are none; from `until` on, other threads do. REQUIRES: this loop is counted in
  // active_.
  void Drain(Ready* ready, Clock::time_point until = Clock::time_point::max()) {
    Item item;
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

  void Dispatch(const Item& item, bool goes_on) {
    active_.fetch_add(1, std::memory_order_relaxed);
    step_.pool->Schedule(ThreadPool::Task{[](void* object, int64_t) {
                                            std::unique_ptr<ItemTask> task(static_cast<ItemTask*>(object));
                                            std::optional<GoOnTimer> timer;
                                            if (task->goes_on) timer.emplace(task->run->plan_);
                                            Ready ready;
                                            ready.now.push_back(task->item);
                                            task->run->Drain(&ready);
                                          },
                                          new ItemTask{this, item, goes_on}, 0});
  }

  void Gather(const Item& item, Entry** in) {
    const PlanNode& node = NodeOf(item);
    for (int i = 0; i < node.num_inputs; ++i) {
      const int32_t slot = plan_->inputs[node.inputs + i];
      in[i] = slot >= 0 ? Slot(item.iteration, slot) : const_cast<Entry*>(&plan_->constants[-1 - slot]);
    }
  }

  KernelContext::Frame MakeFrame(const Item& item, Entry* const* in, Tensor* derefs) {
    const PlanNode& node = NodeOf(item);
    return {&step_,
            node.device,
            &node.node->op().def,
            &node.node->name(),
            in,
            derefs,
            node.num_inputs,
            Outputs(item.iteration, node),
            plan_->slot_types.data() + node.outputs,
            node.num_outputs,
            item.iteration->index,
            item.iteration->tag,
            item.dead};
  }

  void PrepareOutputs(Iteration* it, const PlanNode& node, bool dead) {
    Entry* outputs = Outputs(it, node);
    for (int i = 0; i < node.num_outputs; ++i) {
      outputs[i].uses.store(plan_->slot_uses[node.outputs + i], std::memory_order_relaxed);
      outputs[i].dead = dead;
    }
  }

  static bool MovesBetweenIterations(NodeKind kind) {
    return kind == NodeKind::kEnter || kind == NodeKind::kConstantEnter || kind == NodeKind::kExit ||
           kind == NodeKind::kNextIteration;
  }

  void Run(const Item& item, Ready* ready) {
    const PlanNode& node = NodeOf(item);
    if ((item.dead && node.kind != NodeKind::kSend) || MovesBetweenIterations(node.kind)) {
      if (!MovesBetweenIterations(node.kind)) PrepareOutputs(item.iteration, node, /*dead=*/true);
      return Finish(item, nullptr, OkStatus(), ready);
    }
    PrepareOutputs(item.iteration, node, false);
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

  void Merge(const Item& item) {
    const PlanNode& node = NodeOf(item);
    int live;
    {
      MutexLock lock(mu_);
      live = item.iteration->waits[plan_->node_in_frame[item.node]].live;
    }
    const int32_t slot = plan_->inputs[node.inputs + live];
    const Entry& from = slot >= 0 ? *Slot(item.iteration, slot) : plan_->constants[-1 - slot];
    Entry* outputs = Outputs(item.iteration, node);
    outputs[0].tensor = from.tensor;
    outputs[0].ref = from.ref;
    // Not held twice: whoever uses the value next may be its only user, and write into it.
    if (slot >= 0) ReleaseInput(Slot(item.iteration, slot));
    if (node.num_outputs > 1 && plan_->slot_uses[node.outputs + 1] > 0)
      outputs[1].tensor = Tensor::Scalar<int32_t>(live);
  }

  // What is there already (a value received before it was asked for) is handled here, without a turn through the pool.
  void RunAsync(const Item& item, Ready* ready) {
    const PlanNode& node = NodeOf(item);
    auto* call = new Invocation(this, item, node.num_inputs);
    Gather(item, call->inputs.data());
    active_.fetch_add(1, std::memory_order_relaxed);
    if (!call->Start(*plan_, node, step_, [&](Tensor* derefs) { return MakeFrame(item, call->inputs.data(), derefs); }))
      return;
    FinishCall(call, ready);
    active_.fetch_sub(1, std::memory_order_relaxed);  // never the last: this loop counts too
  }

  void FinishCall(Invocation* call, Ready* ready) {
    std::unique_ptr<Invocation> owned(call);
    call->End();
    Finish(call->id, call->inputs.data(), std::move(call->status), ready);
  }

  // On the thread that called back; what became ready runs on the pool, so that the caller returns at once, or here,
  // where that is allowed and usually short.
  void GoOnAfter(Invocation* call) {
    Ready ready;
    FinishCall(call, &ready);
    if (ready.empty()) return Leave();
    if (step_.pool == nullptr || step_.pool->num_workers() == 0) return Drain(&ready);
    if (GoesOnHere(*plan_)) {
      const GoOnTimer timer(plan_);
      return Drain(&ready, Clock::now() + kLongestGoOnHere);
    }
    Item item;
    while (ready.Pop(&item)) Dispatch(item, /*goes_on=*/true);
    Leave();
  }

  // After a node ran (or was found dead): checks, releases inputs, tells consumers.
  void Finish(const Item& item, Entry* const* in, Status status, Ready* ready) {
    const PlanNode& node = NodeOf(item);
    if (status.ok() && in != nullptr) status = CheckOutputs(node, Outputs(item.iteration, node));
    if (!status.ok()) return Abort(AtNode(status, *node.node));
    if (node.fetched && !item.dead && !MovesBetweenIterations(node.kind)) {
      KeepFetchedValues(node, Outputs(item.iteration, node));
    }
    if (in != nullptr) {
      for (int i = 0; i < node.num_inputs; ++i) {
        if (plan_->inputs[node.inputs + i] >= 0) ReleaseInput(in[i]);
      }
    }
    MutexLock lock(mu_);
    Propagate(item, ready);
    --item.iteration->outstanding;
    Retire(item.iteration->frame, ready);
  }

  void Propagate(const Item& item, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const PlanNode& node = NodeOf(item);
    Iteration* it = item.iteration;
    switch (node.kind) {
      case NodeKind::kEnter:
      case NodeKind::kConstantEnter:
        return PropagateEnter(item, ready);
      case NodeKind::kExit:
        if (!item.dead) PropagateExit(item, ready);
        return;
      case NodeKind::kNextIteration:
        if (!item.dead) PropagateNext(item, ready);
        return;
      default: {
        const Entry* outputs = Outputs(it, node);
        // Nothing received: what waits for it by a control edge is on the branch not taken as well.
        const bool dead = item.dead || (node.kind == NodeKind::kRecv && outputs[0].dead);
        for (const PlanEdge& e : EdgesOf(item.node))
          Deliver(e, it, e.output < 0 ? dead : outputs[e.output].dead, ready);
      }
    }
  }

  std::span<const PlanEdge> EdgesOf(int32_t node) const {
    return {plan_->edges.data() + plan_->edges_begin[node], plan_->edges.data() + plan_->edges_begin[node + 1]};
  }

  // The value a moving node hands on: its only input.
  PendingValue TakeValue(const Item& item) {
    const PlanNode& node = NodeOf(item);
    const int32_t slot = plan_->inputs[node.inputs];
    if (item.dead) return {item.node, Tensor(), nullptr};
    if (slot < 0) return {item.node, plan_->constants[-1 - slot].tensor, nullptr};
    Entry* e = Slot(item.iteration, slot);
    PendingValue value{item.node, e->tensor, e->ref};
    ReleaseInput(e);
    return value;
  }

  void Place(const PendingValue& value, Iteration* it, bool dead, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const PlanNode& node = plan_->nodes[value.node];
    Entry* e = Slot(it, node.outputs);
    e->tensor = value.tensor;
    e->ref = value.ref;
    e->dead = dead;
    e->uses.store(plan_->slot_uses[node.outputs], std::memory_order_relaxed);
    if (node.fetched && !dead && e->ref) e->tensor = e->ref->Snapshot();
    for (const PlanEdge& edge : EdgesOf(value.node)) Deliver(edge, it, dead, ready);
  }

  void PropagateEnter(const Item& item, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Frame* frame = ChildFrame(item.iteration, plan_->child_frame[item.node]);
    PendingValue value = TakeValue(item);
    --frame->enters_left;
    if (NodeOf(item).kind == NodeKind::kConstantEnter) {
      frame->invariants.push_back({item.node, value.tensor, value.ref, item.dead});
      for (Iteration* it = frame->oldest; it != nullptr; it = it->next) Place(value, it, item.dead, ready);
    } else {
      Place(value, frame->oldest, item.dead, ready);
    }
    // The frame may have nothing more to do (all its nodes dead).
    Retire(frame, ready);
  }

  Frame* ChildFrame(Iteration* it, int32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (const auto& child : it->frame->children) {
      if (child->id == id && child->parent == it) return child.get();
    }
    std::unique_ptr<Frame> frame = TakeFrame(id);
    frame->parent = it;
    frame->next_index = 0;
    frame->enters_left = frame->info->num_enters;
    frame->exit_live.assign(frame->info->exits.size(), false);
    NewIteration(frame.get());
    ++it->children;
    it->frame->children.push_back(std::move(frame));
    return it->frame->children.back().get();
  }

  // One that has ended, if there is one: its iterations are there already.
  std::unique_ptr<Frame> TakeFrame(int32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto it = std::find_if(ended_.begin(), ended_.end(), [&](const auto& f) { return f->id == id; });
    if (it != ended_.end()) {
      std::unique_ptr<Frame> frame = std::move(*it);
      ended_.erase(it);
      return frame;
    }
    auto frame = std::make_unique<Frame>();
    frame->id = id;
    frame->info = &plan_->frames[id];
    return frame;
  }

  Iteration* NewIteration(Frame* frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Iteration* it = frame->unused;
    if (it != nullptr) {
      frame->unused = it->next;
    } else {
      it = frame->iterations.emplace_back(std::make_unique<Iteration>()).get();
      it->frame = frame;
      it->slots = std::make_unique<Entry[]>(static_cast<size_t>(frame->info->num_slots));
    }
    it->next = nullptr;
    it->index = frame->next_index++;
    if (frame->parent != nullptr) it->tag = TagOf(*frame, it->index);
    it->waits = it->index == 0 ? frame->info->first_wait : frame->info->later_wait;
    (frame->oldest == nullptr ? frame->oldest : frame->newest->next) = it;
    frame->newest = it;
    ++frame->in_flight;
    return it;
  }

  // The oldest iteration is over: drops its values and keeps it for later.
  void EndIteration(Frame* frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Iteration* it = frame->oldest;
    for (int32_t i = 0; i < frame->info->num_slots; ++i) {
      Entry& e = it->slots[i];
      e.tensor.Reset();
      e.ref = nullptr;
      e.dead = false;
    }
    frame->oldest = it->next;
    it->next = frame->unused;
    frame->unused = it;
    --frame->in_flight;
  }

  void PropagateExit(const Item& item, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Frame* frame = item.iteration->frame;
    const auto& exits = frame->info->exits;
    frame->exit_live[std::find(exits.begin(), exits.end(), item.node) - exits.begin()] = true;
    Place(TakeValue(item), frame->parent, false, ready);
  }

  void PropagateNext(const Item& item, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Frame* frame = item.iteration->frame;
    PendingValue value = TakeValue(item);
    if (item.iteration->next != nullptr) return Place(value, item.iteration->next, false, ready);
    frame->waiting.push_back(std::move(value));
    if (frame->in_flight < frame->info->parallel_iterations) BeginIteration(frame, ready);
  }

  // Starts the iteration whose values are waiting.
  void BeginIteration(Frame* frame, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Iteration* it = NewIteration(frame);
    for (const auto& inv : frame->invariants) Place({inv.node, inv.tensor, inv.ref}, it, inv.dead, ready);
    frame->beginning.swap(frame->waiting);
    for (const PendingValue& value : frame->beginning) Place(value, it, false, ready);
    frame->beginning.clear();
  }

  void Deliver(const PlanEdge& edge, Iteration* it, bool dead, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const PlanNode& node = plan_->nodes[edge.target];
    NodeWait& wait = it->waits[plan_->node_in_frame[edge.target]];
    if (node.kind == NodeKind::kMerge) {
      if (edge.output < 0)
        --wait.pending;
      else if (dead)
        --wait.dead_left;
      else if (wait.live < 0)
        wait.live = edge.input;
      if (wait.fired || wait.pending > 0 || (wait.live < 0 && wait.dead_left > 0)) return;
      wait.fired = true;
      return MakeReady(edge.target, it, wait.live < 0, ready);
    }
    wait.any_dead |= dead;
    if (--wait.pending == 0) {
      MakeReady(edge.target, it, wait.any_dead && node.kind != NodeKind::kControlTrigger, ready);
    }
  }

  void MakeReady(int32_t node, Iteration* it, bool dead, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    it->waits[plan_->node_in_frame[node]].fired = true;
    ++it->outstanding;
    (plan_->nodes[node].update && !dead ? ready->late : ready->now).push_back({node, it, dead});
  }

  // Frees iterations that are over, begins the next one where it was held back, ends the frame after its last.
  void Retire(Frame* frame, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (frame->parent != nullptr) {
      while (frame->oldest != nullptr) {
        const Iteration* it = frame->oldest;
        if (it->outstanding > 0 || it->children > 0 || (it->index == 0 && frame->enters_left > 0)) return;
        EndIteration(frame);
        if (!frame->waiting.empty()) BeginIteration(frame, ready);
      }
      Frame* parent = frame->parent->frame;
      EndFrame(frame, ready);
      frame = parent;
    }
  }

  // Results that the loop never produced are dead.
  void EndFrame(Frame* frame, Ready* ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Iteration* parent = frame->parent;
    for (size_t i = 0; i < frame->exit_live.size(); ++i) {
      if (!frame->exit_live[i]) Place({frame->info->exits[i], Tensor(), nullptr}, parent, true, ready);
    }
    --parent->children;
    auto& siblings = parent->frame->children;
    const auto it = std::find_if(siblings.begin(), siblings.end(), [&](const auto& f) { return f.get() == frame; });
    frame->invariants.clear();
    ended_.push_back(std::move(*it));
    siblings.erase(it);
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
      if (status.ok()) status = TakeResults(*plan_, args_, root_->oldest->slots.get(), rets_);
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
  std::unique_ptr<Frame> root_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Frame>> ended_ ABSL_GUARDED_BY(mu_);  // to be used again
  Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void RunFrames(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets, std::function<void(Status)> done) {
  if (Status s = CheckArgs(*plan, args); !s.ok()) return done(std::move(s));
  (new FrameRun(std::move(plan), step, args, rets, std::move(done)))->Start();
}

}  // namespace millstream::internal
