// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_MOMENTUM_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_MOMENTUM_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// accum = momentum * accum + gradient; var -= learning_rate * accum, or Nesterov's form. Slot "momentum".
class MomentumOptimizer : public KernelOptimizer {
 public:
  struct Options {
    bool use_nesterov = false;
    bool use_locking = false;
    std::string name = "Momentum";
  };
  MomentumOptimizer(const Hyperparameter& learning_rate, const Hyperparameter& momentum)
      : MomentumOptimizer(learning_rate, momentum, Options()) {}
  MomentumOptimizer(const Hyperparameter& learning_rate, const Hyperparameter& momentum, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_MOMENTUM_H_
