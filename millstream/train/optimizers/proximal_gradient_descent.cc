// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/proximal_gradient_descent.h"

namespace millstream {

ProximalGradientDescentOptimizer::ProximalGradientDescentOptimizer(const Hyperparameter& learning_rate,
                                                                   const Options& options)
    : KernelOptimizer(options.name, options.use_locking,
                      {.op = "ProximalGradientDescent",
                       .numbers = {{"learning_rate", learning_rate},
                                   {"l1_regularization_strength", options.l1_regularization_strength},
                                   {"l2_regularization_strength", options.l2_regularization_strength}},
                       .numbers_before_gradient = 3}) {}

}  // namespace millstream
