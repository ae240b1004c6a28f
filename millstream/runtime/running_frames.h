// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_RUNNING_FRAMES_H_
#define MILLSTREAM_RUNTIME_RUNNING_FRAMES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "millstream/runtime/plan.h"

namespace millstream::internal {

struct RunningFrame;

// One iteration of a loop (or the whole plan, for frame 0): values and what nodes still wait for.
struct RunningIteration {
  RunningFrame* frame = nullptr;
  RunningIteration* next = nullptr;  // the one after it, if it has begun; or the next unused one
  int64_t index = 0;
  uint64_t tag = 0;  // names this iteration across tasks
  std::unique_ptr<Entry[]> slots;
  std::vector<NodeWait> waits;
  int outstanding = 0;  // nodes that are ready or running
  int children = 0;     // loops begun in this iteration that have not ended
};

// A value on its way into another iteration: that of the output of `node`, which moves it there.
struct MovingValue {
  int32_t node;
  Tensor tensor;
  Ref<Variable> ref;
  bool dead = false;
};

// One run of a loop.
struct RunningFrame {
  int32_t id = 0;
  const PlanFrame* info = nullptr;
  RunningIteration* parent = nullptr;
  // Those in flight are a list. One that is over is used again, so that a loop allocates no more than it has in flight.
  RunningIteration* oldest = nullptr;
  RunningIteration* newest = nullptr;
  RunningIteration* unused = nullptr;
  int32_t in_flight = 0;
  std::vector<std::unique_ptr<RunningIteration>> iterations;  // owns all of them
  int64_t next_index = 0;
  int enters_left = 0;
  std::vector<MovingValue> invariants;
  std::vector<MovingValue> waiting;    // for the iteration that must wait for an older one to end
  std::vector<MovingValue> beginning;  // those values, while it begins
  std::vector<bool> exit_live;
  std::vector<std::unique_ptr<RunningFrame>> children;
};

// The loops of one step that are running: owns their frames and iterations, and uses those that have ended again. Knows
// nothing of what runs in them. For one thread at a time.
class RunningFrames {
 public:
  // Begins frame 0 and its only iteration. `plan` must outlive this.
  explicit RunningFrames(const Plan& plan);

  RunningIteration* root() const { return root_.oldest; }

  // The run of loop `id` that was begun in `it`; begins it, with its first iteration, if there is none.
  RunningFrame* Child(RunningIteration* it, int32_t id);
  // After this, `frame` is gone for its parent. REQUIRES: no iteration of it is in flight.
  void End(RunningFrame* frame);

  RunningIteration* BeginIteration(RunningFrame* frame);
  // The oldest iteration is over: drops its values and keeps it for later.
  void EndIteration(RunningFrame* frame);

 private:
  std::unique_ptr<RunningFrame> TakeFrame(int32_t id);

  const Plan& plan_;
  RunningFrame root_;
  std::vector<std::unique_ptr<RunningFrame>> ended_;  // to be used again
};

}  // namespace millstream::internal

#endif  // MILLSTREAM_RUNTIME_RUNNING_FRAMES_H_
