// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/adagrad.h"

namespace millstream {

AdagradOptimizer::AdagradOptimizer(const Hyperparameter& learning_rate, const Options& options)
    : KernelOptimizer(options.name, options.use_locking,
                      {.op = "Adagrad",
                       .slots = {{"accumulator", ConstantInitializer(options.initial_accumulator_value)}},
                       .numbers = {{"learning_rate", learning_rate}},
                       .numbers_before_gradient = 1}) {
  RequirePositive("initial_accumulator_value", options.initial_accumulator_value);
}

}  // namespace millstream
