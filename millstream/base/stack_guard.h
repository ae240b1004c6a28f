// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_STACK_GUARD_H_
#define MILLSTREAM_BASE_STACK_GUARD_H_

#include "millstream/base/status.h"

namespace millstream {

// True if the calling thread has used three quarters of its stack. For calls that follow what a program nests (datasets
// of datasets, functions of functions), where no fixed depth is right for every thread and every size of a frame.
bool StackIsLow();

// The error of such a call: ResourceExhausted. `what` is nested too deeply, e.g. "datasets".
Status NestedTooDeeply(absl::string_view what);

}  // namespace millstream

#endif  // MILLSTREAM_BASE_STACK_GUARD_H_
