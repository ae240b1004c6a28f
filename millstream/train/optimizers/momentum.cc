// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/momentum.h"

namespace millstream {

MomentumOptimizer::MomentumOptimizer(const Hyperparameter& learning_rate, const Hyperparameter& momentum,
                                     const Options& options)
    : KernelOptimizer(options.name, options.use_locking,
                      {.op = "Momentum",
                       .slots = {{"momentum", ZerosInitializer()}},
                       .numbers = {{"learning_rate", learning_rate}, {"momentum", momentum}},
                       .numbers_before_gradient = 1,
                       .attrs = {{"use_nesterov", options.use_nesterov}}}) {}

}  // namespace millstream
