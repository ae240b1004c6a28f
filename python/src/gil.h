// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_GIL_H_
#define MILLSTREAM_PYTHON_SRC_GIL_H_

#include <nanobind/nanobind.h>

namespace millstream::python {

// Lets other Python threads run while C++ waits. Use these instead of nanobind's: when the interpreter ends, Python
// ends every other thread that asks for the GIL in the middle of its stack, which C++ cannot survive. From BeginExit()
// on such threads stay where they are, until the process is gone.
class ReleaseGil {
 public:
  ReleaseGil();
  ~ReleaseGil();
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  PyThreadState* state_;
};

// Takes the GIL in a thread of ours; ok() is false, and the GIL not held, if the interpreter ends or has ended.
class AcquireGil {
 public:
  AcquireGil();
  ~AcquireGil();
  AcquireGil(const AcquireGil&) = delete;
  AcquireGil& operator=(const AcquireGil&) = delete;
  bool ok() const { return ok_; }

 private:
  PyGILState_STATE state_{};
  bool ok_ = false;
};

// The interpreter is about to end. REQUIRES: called by the main thread, with the GIL.
void BeginExit();

bool IsMainThread();

void BindExit(nanobind::module_& m);

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_GIL_H_
