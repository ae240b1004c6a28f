// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/proximal_adagrad.h"

namespace millstream {

ProximalAdagradOptimizer::ProximalAdagradOptimizer(const Hyperparameter& learning_rate, const Options& options)
    : KernelOptimizer(options.name, options.use_locking,
                      {.op = "ProximalAdagrad",
                       .slots = {{"accumulator", ConstantInitializer(options.initial_accumulator_value)}},
                       .numbers = {{"learning_rate", learning_rate},
                                   {"l1_regularization_strength", options.l1_regularization_strength},
                                   {"l2_regularization_strength", options.l2_regularization_strength}},
                       .numbers_before_gradient = 3}) {
  RequirePositive("initial_accumulator_value", options.initial_accumulator_value);
}

}  // namespace millstream
