// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_PYTHON_SRC_EXIT_DEADLINE_H_
#define MILLSTREAM_PYTHON_SRC_EXIT_DEADLINE_H_

#include <chrono>

namespace millstream::python {

// The process ends with that status after that time, whatever Python does meanwhile; but not while it is held, as it is
// while a checkpoint is written. The first call counts.
void ExitAfter(std::chrono::milliseconds time, int status);
void HoldExit();
void ReleaseExit();
// True if HoldExit() was called just now: a signal that is handled this late is the one that the program stops for.
bool ExitWasJustHeld();

}  // namespace millstream::python

#endif  // MILLSTREAM_PYTHON_SRC_EXIT_DEADLINE_H_
