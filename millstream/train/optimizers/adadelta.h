// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_ADADELTA_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_ADADELTA_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// Adadelta. Slots "accum" and "accum_update".
class AdadeltaOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double rho = 0.95;
    double epsilon = 1e-8;
    bool use_locking = false;
    std::string name = "Adadelta";
  };
  explicit AdadeltaOptimizer(const Hyperparameter& learning_rate = 0.001)
      : AdadeltaOptimizer(learning_rate, Options()) {}
  AdadeltaOptimizer(const Hyperparameter& learning_rate, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_ADADELTA_H_
