// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/adadelta.h"

namespace millstream {

AdadeltaOptimizer::AdadeltaOptimizer(const Hyperparameter& learning_rate, const Options& options)
    : KernelOptimizer(options.name, options.use_locking,
                      {.op = "Adadelta",
                       .slots = {{"accum", ZerosInitializer()}, {"accum_update", ZerosInitializer()}},
                       .numbers = {{"lr", learning_rate}, {"rho", options.rho}, {"epsilon", options.epsilon}},
                       .numbers_before_gradient = 3}) {}

}  // namespace millstream
