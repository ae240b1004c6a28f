// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_RMS_PROP_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_RMS_PROP_H_

#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

// RMSProp; centered: the variance of gradients in place of their mean square. Slots "rms", "momentum" and, when
// centered, "mg".
class RMSPropOptimizer : public KernelOptimizer {
 public:
  struct Options {
    double decay = 0.9;
    double momentum = 0;
    double epsilon = 1e-10;
    bool centered = false;
    bool use_locking = false;
    std::string name = "RMSProp";
  };
  explicit RMSPropOptimizer(const Hyperparameter& learning_rate) : RMSPropOptimizer(learning_rate, Options()) {}
  RMSPropOptimizer(const Hyperparameter& learning_rate, const Options& options);

 private:
  static Kernel KernelOf(const Hyperparameter& learning_rate, const Options& options);
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_RMS_PROP_H_
