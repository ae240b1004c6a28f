// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_SETTINGS_OPTIMIZERS_H_
#define MILLSTREAM_CLI_TRAIN_SETTINGS_OPTIMIZERS_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/train/optimizers/optimizer.h"

namespace millstream::cli {

// The values of --optimizer.
std::vector<std::string> OptimizerNames();
// InvalidArgument names those that there are.
StatusOr<std::shared_ptr<Optimizer>> MakeOptimizer(const std::string& name, double learning_rate);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_SETTINGS_OPTIMIZERS_H_
