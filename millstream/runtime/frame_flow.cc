// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/frame_flow.h"

#include <algorithm>
#include <utility>

#include "millstream/runtime/invoke.h"

namespace millstream::internal {

void FrameFlow::Begin(std::span<const Tensor> args, ReadyNodes* ready) {
  RunningIteration* it = frames_.root();
  for (size_t i = 0; i < args.size(); ++i) {
    Entry* e = SlotIn(plan_, it, plan_.arg_slots[i]);
    e->tensor = args[i];
    e->uses.store(plan_.slot_uses[plan_.arg_slots[i]], std::memory_order_relaxed);
  }
  const auto& nodes = plan_.frames[0].nodes;
  for (size_t k = nodes.size(); k-- > 0;) {
    const NodeWait& wait = it->waits[k];
    const bool merge = plan_.nodes[nodes[k]].kind == NodeKind::kMerge;
    if (wait.pending == 0 && (!merge || wait.live >= 0)) MakeReady(nodes[k], it, false, ready);
  }
}

void FrameFlow::Finish(const ReadyNode& done, ReadyNodes* ready) {
  Propagate(done, ready);
  --done.iteration->outstanding;
  Retire(done.iteration->frame, ready);
}

int FrameFlow::LiveInput(const ReadyNode& merge) const {
  return merge.iteration->waits[plan_.node_in_frame[merge.node]].live;
}

inline std::span<const PlanEdge> FrameFlow::EdgesOf(int32_t node) const {
  return {plan_.edges.data() + plan_.edges_begin[node], plan_.edges.data() + plan_.edges_begin[node + 1]};
}

// The value a moving node hands on: its only input.
inline MovingValue FrameFlow::TakeValue(const ReadyNode& mover) {
  const PlanNode& node = plan_.nodes[mover.node];
  const int32_t slot = plan_.inputs[node.inputs];
  if (mover.dead) return {mover.node, Tensor(), nullptr, true};
  if (slot < 0) return {mover.node, plan_.constants[-1 - slot].tensor, nullptr};
  Entry* e = SlotIn(plan_, mover.iteration, slot);
  if (e->uses.load(std::memory_order_acquire) == 1) {
    MovingValue value{mover.node, std::move(e->tensor), std::move(e->ref)};
    e->tensor.Reset();
    return value;
  }
  MovingValue value{mover.node, e->tensor, e->ref};
  ReleaseInput(e);
  return value;
}

inline void FrameFlow::Place(MovingValue value, RunningIteration* it, ReadyNodes* ready) {
  const PlanNode& node = plan_.nodes[value.node];
  Entry* e = SlotIn(plan_, it, node.outputs);
  e->tensor = std::move(value.tensor);
  e->ref = std::move(value.ref);
  e->dead = value.dead;
  e->uses.store(plan_.slot_uses[node.outputs], std::memory_order_relaxed);
  if (node.fetched && !value.dead && e->ref) e->tensor = e->ref->Snapshot();
  for (const PlanEdge& edge : EdgesOf(value.node)) Deliver(edge, it, value.dead, ready);
}

inline void FrameFlow::Propagate(const ReadyNode& done, ReadyNodes* ready) {
  const PlanNode& node = plan_.nodes[done.node];
  switch (node.kind) {
    case NodeKind::kEnter:
    case NodeKind::kConstantEnter:
      return PropagateEnter(done, ready);
    case NodeKind::kExit:
      if (!done.dead) PropagateExit(done, ready);
      return;
    case NodeKind::kNextIteration:
      if (!done.dead) PropagateNext(done, ready);
      return;
    default: {
      RunningIteration* it = done.iteration;
      const Entry* outputs = OutputsIn(plan_, it, node);
      // Nothing received: what waits for it by a control edge is on the branch not taken as well.
      const bool dead = done.dead || (node.kind == NodeKind::kRecv && outputs[0].dead);
      for (const PlanEdge& e : EdgesOf(done.node)) Deliver(e, it, e.output < 0 ? dead : outputs[e.output].dead, ready);
    }
  }
}

inline void FrameFlow::PropagateEnter(const ReadyNode& enter, ReadyNodes* ready) {
  RunningFrame* frame = frames_.Child(enter.iteration, plan_.child_frame[enter.node]);
  MovingValue value = TakeValue(enter);
  --frame->enters_left;
  if (plan_.nodes[enter.node].kind == NodeKind::kConstantEnter) {
    for (RunningIteration* it = frame->oldest; it != nullptr; it = it->next) Place(value, it, ready);
    frame->invariants.push_back(std::move(value));
  } else {
    Place(std::move(value), frame->oldest, ready);
  }
  // The frame may have nothing more to do (all its nodes dead).
  Retire(frame, ready);
}

inline void FrameFlow::PropagateExit(const ReadyNode& exit, ReadyNodes* ready) {
  RunningFrame* frame = exit.iteration->frame;
  const auto& exits = frame->info->exits;
  frame->exit_live[std::find(exits.begin(), exits.end(), exit.node) - exits.begin()] = true;
  Place(TakeValue(exit), frame->parent, ready);
}

inline void FrameFlow::PropagateNext(const ReadyNode& next, ReadyNodes* ready) {
  RunningFrame* frame = next.iteration->frame;
  MovingValue value = TakeValue(next);
  if (next.iteration->next != nullptr) return Place(std::move(value), next.iteration->next, ready);
  frame->waiting.push_back(std::move(value));
  if (frame->in_flight < frame->info->parallel_iterations && !MemoryIsExhausted()) BeginIteration(frame, ready);
}

inline void FrameFlow::Deliver(const PlanEdge& edge, RunningIteration* it, bool dead, ReadyNodes* ready) {
  const PlanNode& node = plan_.nodes[edge.target];
  NodeWait& wait = it->waits[plan_.node_in_frame[edge.target]];
  if (node.kind == NodeKind::kMerge) {
    if (edge.output < 0)
      --wait.pending;
    else if (dead)
      --wait.dead_left;
    else if (wait.live < 0)
      wait.live = edge.input;
    if (wait.fired || wait.pending > 0 || (wait.live < 0 && wait.dead_left > 0)) return;
    return MakeReady(edge.target, it, wait.live < 0, ready);
  }
  wait.any_dead |= dead;
  if (--wait.pending == 0) {
    MakeReady(edge.target, it, wait.any_dead && node.kind != NodeKind::kControlTrigger, ready);
  }
}

inline void FrameFlow::MakeReady(int32_t node, RunningIteration* it, bool dead, ReadyNodes* ready) {
  it->waits[plan_.node_in_frame[node]].fired = true;
  ++it->outstanding;
  (plan_.nodes[node].update && !dead ? ready->late : ready->now).push_back({node, it, dead});
}

// Starts the iteration whose values are waiting.
inline void FrameFlow::BeginIteration(RunningFrame* frame, ReadyNodes* ready) {
  RunningIteration* it = frames_.BeginIteration(frame);
  for (const MovingValue& value : frame->invariants) Place(value, it, ready);
  frame->beginning.swap(frame->waiting);
  for (MovingValue& value : frame->beginning) Place(std::move(value), it, ready);
  frame->beginning.clear();
}

// Frees iterations that are over, begins the next one where it was held back, ends the frame after its last.
inline void FrameFlow::Retire(RunningFrame* frame, ReadyNodes* ready) {
  while (frame->parent != nullptr) {
    while (frame->oldest != nullptr) {
      const RunningIteration* it = frame->oldest;
      if (it->outstanding > 0 || it->children > 0 || (it->index == 0 && frame->enters_left > 0)) return;
      frames_.EndIteration(frame);
      if (!frame->waiting.empty()) BeginIteration(frame, ready);
    }
    RunningFrame* parent = frame->parent->frame;
    EndFrame(frame, ready);
    frame = parent;
  }
}

// Results that the loop never produced are dead.
inline void FrameFlow::EndFrame(RunningFrame* frame, ReadyNodes* ready) {
  for (size_t i = 0; i < frame->exit_live.size(); ++i) {
    if (!frame->exit_live[i]) Place({frame->info->exits[i], Tensor(), nullptr, true}, frame->parent, ready);
  }
  frames_.End(frame);
}

}  // namespace millstream::internal
