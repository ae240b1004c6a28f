// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_GRADIENT_DESCENT_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_GRADIENT_DESCENT_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// var -= learning_rate * gradient.
class GradientDescentOptimizer : public KernelOptimizer {
 public:
  struct Options {
    bool use_locking = false;
    std::string name = "GradientDescent";
  };
  explicit GradientDescentOptimizer(const Hyperparameter& learning_rate)
      : GradientDescentOptimizer(learning_rate, Options()) {}
  GradientDescentOptimizer(const Hyperparameter& learning_rate, const Options& options);

 protected:
  Node* ApplySparseDuplicates(const Scope& scope, Output values, Output indices, const GraphVariable& v) override;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_GRADIENT_DESCENT_H_
