// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_INTERRUPT_H_
#define MILLSTREAM_PYTHON_SRC_INTERRUPT_H_

#include <functional>

#include "millstream/base/cancellation.h"

namespace millstream::python {

// While one lives, Ctrl-C cancels the step, or calls `give_up` in another thread. Python itself notes signals but acts
// on them only in bytecode of the main thread, which is waiting for the step then. Does nothing in other threads, or
// where the program has replaced Python's own handler before the first step. REQUIRES: made and destroyed with the GIL
// held.
class Interruptible {
 public:
  explicit Interruptible(Cancellation* step);
  explicit Interruptible(std::function<void()> give_up);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  std::function<void()> previous_;
  bool registered_ = false;
};

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_INTERRUPT_H_
