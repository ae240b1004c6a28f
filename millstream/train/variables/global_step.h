// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_VARIABLES_GLOBAL_STEP_H_
#define MILLSTREAM_TRAIN_VARIABLES_GLOBAL_STEP_H_

#include "millstream/train/variables/variables.h"

namespace millstream {

// The variable that counts steps: the one of the collection "global_step", or the node of that name. An empty one if
// there is none. InvalidArgument, in the scope's status, if there are several or it is no scalar number (TF1 programs
// also count in floats).
GraphVariable GetGlobalStep(const Scope& scope);
// Makes the int64 variable "global_step". InvalidArgument if there is one.
GraphVariable CreateGlobalStep(const VariableScope& variables);
GraphVariable GetOrCreateGlobalStep(const VariableScope& variables);
// The same where variables need no placing.
GraphVariable GetOrCreateGlobalStep(const Scope& scope);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_VARIABLES_GLOBAL_STEP_H_
