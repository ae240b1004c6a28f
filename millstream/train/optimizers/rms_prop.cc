// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/rms_prop.h"

namespace millstream {

RMSPropOptimizer::RMSPropOptimizer(const Hyperparameter& learning_rate, const Options& options)
    : KernelOptimizer(options.name, options.use_locking, KernelOf(learning_rate, options)) {}

KernelOptimizer::Kernel RMSPropOptimizer::KernelOf(const Hyperparameter& learning_rate, const Options& options) {
  Kernel kernel{.op = "RMSProp",
                .slots = {{"rms", OnesInitializer()}, {"momentum", ZerosInitializer()}},
                .numbers = {{"learning_rate", learning_rate},
                            {"decay", options.decay},
                            {"momentum", options.momentum},
                            {"epsilon", options.epsilon}},
                .numbers_before_gradient = 4};
  if (options.centered) {
    kernel.op = "CenteredRMSProp";
    kernel.slots = {{"rms", OnesInitializer()}, {"mg", ZerosInitializer()}, {"momentum", ZerosInitializer()}};
    kernel.slot_inputs = {1, 0, 2};
  }
  return kernel;
}

}  // namespace millstream
