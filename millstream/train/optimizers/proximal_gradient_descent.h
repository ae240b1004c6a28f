// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_PROXIMAL_GRADIENT_DESCENT_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_PROXIMAL_GRADIENT_DESCENT_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// Gradient descent with L1 and L2 terms that are taken into account in closed form (FOBOS).
class ProximalGradientDescentOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double l1_regularization_strength = 0;
    double l2_regularization_strength = 0;
    bool use_locking = false;
    std::string name = "ProximalGradientDescent";
  };
  explicit ProximalGradientDescentOptimizer(const Hyperparameter& learning_rate)
      : ProximalGradientDescentOptimizer(learning_rate, Options()) {}
  ProximalGradientDescentOptimizer(const Hyperparameter& learning_rate, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_PROXIMAL_GRADIENT_DESCENT_H_
