// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_INTERRUPT_H_
#define MILLSTREAM_PYTHON_SRC_INTERRUPT_H_

#include <functional>

#include "millstream/base/cancellation.h"

namespace millstream::python {

// While one lives, Ctrl-C, and a signal of WatchSignal(), cancels the step, or calls `give_up` in another thread.
// Python itself notes signals but acts on them only in bytecode of the main thread, which is waiting for the step then.
// Does nothing in other threads, or where the program has replaced Python's own handler before the first step.
// REQUIRES: made and destroyed with the GIL held.
//
// In a program that is a task of a cluster, a step gets a second to end by itself, so that no update is made by half.
class Interruptible {
 public:
  explicit Interruptible(Cancellation* step);
  explicit Interruptible(std::function<void()> give_up);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  Interruptible(std::function<void()> give_up, bool is_step);
  std::function<void()> previous_;
  bool previous_is_step_ = false;
  bool registered_ = false;
};

// The signal, whose Python handler has just been set, interrupts like Ctrl-C. REQUIRES: the GIL is held.
void WatchSignal(int number);
// From now on this program is a task of a cluster. `end_waits` is called, by another thread, when a step has not ended
// although it was cancelled: some other task does not answer.
void OnStuckStep(std::function<void()> end_waits);
// Sends SIGTERM to the main thread, if the program has a handler for it. False if it has none.
bool InterruptMainThread();

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_INTERRUPT_H_
