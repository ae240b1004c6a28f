// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/ftrl.h"

namespace millstream {

FtrlOptimizer::FtrlOptimizer(const Hyperparameter& learning_rate, const Options& options)
    : KernelOptimizer(options.name, options.use_locking, KernelOf(learning_rate, options)) {
  if (options.learning_rate_power > 0) {
    Refuse(
        errors::InvalidArgument("learning_rate_power ", options.learning_rate_power, " needs to be negative or zero"));
  }
  for (const auto& [what, number] :
       {std::pair("initial_accumulator_value", options.initial_accumulator_value),
        std::pair("l1_regularization_strength", options.l1_regularization_strength),
        std::pair("l2_regularization_strength", options.l2_regularization_strength),
        std::pair("l2_shrinkage_regularization_strength", options.l2_shrinkage_regularization_strength)}) {
    if (!(number >= 0)) Refuse(errors::InvalidArgument(what, " ", number, " needs to be positive or zero"));
  }
}

KernelOptimizer::Kernel FtrlOptimizer::KernelOf(const Hyperparameter& learning_rate, const Options& options) {
  Kernel kernel{.op = "Ftrl",
                .slots = {{"accum", ConstantInitializer(options.initial_accumulator_value), options.accum_name},
                          {"linear", ZerosInitializer(), options.linear_name}},
                .numbers = {{"learning_rate", learning_rate},
                            {"l1_regularization_strength", options.l1_regularization_strength},
                            {"l2_regularization_strength", options.l2_regularization_strength},
                            {"l2_shrinkage_regularization_strength", options.l2_shrinkage_regularization_strength},
                            {"learning_rate_power", options.learning_rate_power}},
                .number_inputs = {0, 1, 2, 4}};
  if (options.l2_shrinkage_regularization_strength > 0) {
    kernel.op = "FtrlV2";
    kernel.number_inputs = {0, 1, 2, 3, 4};
  }
  return kernel;
}

}  // namespace millstream
