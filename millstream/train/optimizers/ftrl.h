// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_FTRL_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_FTRL_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// Follow the regularized leader. Slots "accum" and "linear". With a shrinkage strength, L2 also shrinks gradients as
// the weights grow.
class FtrlOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double learning_rate_power = -0.5;       // at most 0
    double initial_accumulator_value = 0.1;  // at least 0, as the strengths
    double l1_regularization_strength = 0;
    double l2_regularization_strength = 0;
    double l2_shrinkage_regularization_strength = 0;
    std::string accum_name = {};  // of the slots' variables; none: the optimizer's
    std::string linear_name = {};
    bool use_locking = false;
    std::string name = "Ftrl";
  };
  explicit FtrlOptimizer(const Hyperparameter& learning_rate) : FtrlOptimizer(learning_rate, Options()) {}
  FtrlOptimizer(const Hyperparameter& learning_rate, const Options& options);

 private:
  static Kernel KernelOf(const Hyperparameter& learning_rate, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_FTRL_H_
