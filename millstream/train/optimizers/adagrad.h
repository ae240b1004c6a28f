// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_ADAGRAD_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_ADAGRAD_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// accum += gradient^2; var -= learning_rate * gradient / sqrt(accum). Slot "accumulator".
class AdagradOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double initial_accumulator_value = 0.1;  // positive
    bool use_locking = false;
    std::string name = "Adagrad";
  };
  explicit AdagradOptimizer(const Hyperparameter& learning_rate) : AdagradOptimizer(learning_rate, Options()) {}
  AdagradOptimizer(const Hyperparameter& learning_rate, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_ADAGRAD_H_
