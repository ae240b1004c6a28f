// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_FRAME_FLOW_H_
#define MILLSTREAM_RUNTIME_FRAME_FLOW_H_

#include <cstdint>
#include <span>
#include <vector>

#include "millstream/runtime/plan.h"
#include "millstream/runtime/ready_queue.h"
#include "millstream/runtime/running_frames.h"

namespace millstream::internal {

// A node in one iteration of its loop whose inputs have arrived. Dead: on a branch not taken, so that it does not run.
struct ReadyNode {
  int32_t node;
  RunningIteration* iteration;
  bool dead;
};

using ReadyNodes = ReadyQueue<ReadyNode>;

// True for the nodes that have no kernel: they hand their only input to another iteration.
inline bool MovesBetweenIterations(NodeKind kind) {
  return kind == NodeKind::kEnter || kind == NodeKind::kConstantEnter || kind == NodeKind::kExit ||
         kind == NodeKind::kNextIteration;
}

// The value of a slot in one iteration.
inline Entry* SlotIn(const Plan& plan, RunningIteration* it, int32_t slot) {
  return &it->slots[plan.slot_in_frame[slot]];
}
// The outputs of one node lie side by side in their frame.
inline Entry* OutputsIn(const Plan& plan, RunningIteration* it, const PlanNode& node) {
  return node.num_outputs == 0 ? nullptr : SlotIn(plan, it, node.outputs);
}

// What is ready in one step of a plan with branches and loops: counts what each node still waits for, moves values in
// and out of loops, begins iterations and ends them. Calls no kernel. For one thread at a time; values in slots belong
// to the nodes that make and read them, so that kernels run without the lock that guards this.
class FrameFlow {
 public:
  // `plan` must outlive this.
  explicit FrameFlow(const Plan& plan) : plan_(plan), frames_(plan) {}

  // Places the step's arguments. Adds what can run at once to `ready`, as the other calls do.
  void Begin(std::span<const Tensor> args, ReadyNodes* ready);
  // `done` has run, or was dead: its outputs are in their slots, unless it moves between iterations.
  void Finish(const ReadyNode& done, ReadyNodes* ready);

  // The input of a Merge that has a value. REQUIRES: the merge is ready and not dead.
  int LiveInput(const ReadyNode& merge) const;
  // The values outside all loops.
  Entry* root_slots() const { return frames_.root()->slots.get(); }

 private:
  std::span<const PlanEdge> EdgesOf(int32_t node) const;
  MovingValue TakeValue(const ReadyNode& mover);
  void Place(MovingValue value, RunningIteration* it, ReadyNodes* ready);
  void Propagate(const ReadyNode& done, ReadyNodes* ready);
  void PropagateEnter(const ReadyNode& enter, ReadyNodes* ready);
  void PropagateExit(const ReadyNode& exit, ReadyNodes* ready);
  void PropagateNext(const ReadyNode& next, ReadyNodes* ready);
  void Deliver(const PlanEdge& edge, RunningIteration* it, bool dead, ReadyNodes* ready);
  void MakeReady(int32_t node, RunningIteration* it, bool dead, ReadyNodes* ready);
  void BeginIteration(RunningFrame* frame, ReadyNodes* ready);
  void Retire(RunningFrame* frame, ReadyNodes* ready);
  void EndFrame(RunningFrame* frame, ReadyNodes* ready);

  const Plan& plan_;
  RunningFrames frames_;
};

}  // namespace millstream::internal

#endif  // MILLSTREAM_RUNTIME_FRAME_FLOW_H_
