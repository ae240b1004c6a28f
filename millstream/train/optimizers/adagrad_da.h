// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_ADAGRAD_DA_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_ADAGRAD_DA_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// Adagrad with dual averaging, for sparse linear models: the weights are computed anew from sums of gradients and the
// number of steps. Slots "gradient_accumulator" and "gradient_squared_accumulator". `global_step` counts from 0.
class AdagradDAOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double initial_gradient_squared_accumulator_value = 0.1;  // positive
    double l1_regularization_strength = 0;
    double l2_regularization_strength = 0;
    bool use_locking = false;
    std::string name = "AdagradDA";
  };
  AdagradDAOptimizer(const Hyperparameter& learning_rate, const GraphVariable& global_step)
      : AdagradDAOptimizer(learning_rate, global_step, Options()) {}
  AdagradDAOptimizer(const Hyperparameter& learning_rate, const GraphVariable& global_step, const Options& options);

 protected:
  void Prepare(const Scope& scope) override;
  void AddLastInputs(const Scope& scope, std::vector<Output>* inputs) override;

 private:
  const GraphVariable global_step_;
  Output step_on_worker_;  // fetched once, not once for each variable
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_ADAGRAD_DA_H_
