// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_PROXIMAL_ADAGRAD_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_PROXIMAL_ADAGRAD_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// Adagrad with L1 and L2 terms that are taken into account in closed form (FOBOS). Slot "accumulator".
class ProximalAdagradOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double initial_accumulator_value = 0.1;  // positive
    double l1_regularization_strength = 0;
    double l2_regularization_strength = 0;
    bool use_locking = false;
    std::string name = "ProximalAdagrad";
  };
  explicit ProximalAdagradOptimizer(const Hyperparameter& learning_rate)
      : ProximalAdagradOptimizer(learning_rate, Options()) {}
  ProximalAdagradOptimizer(const Hyperparameter& learning_rate, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_PROXIMAL_ADAGRAD_H_
