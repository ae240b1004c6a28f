// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_JOB_H_
#define MILLSTREAM_CLI_TRAIN_JOB_H_

#include "cli/train/options.h"

namespace millstream::cli {

// Starts the ps tasks and workers of a training job on this machine, shows progress and results, and ends
// them. Returns the exit code: that of the first task that failed, 130 after Ctrl-C.
int RunTrainingJob(TrainOptions options);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_JOB_H_
