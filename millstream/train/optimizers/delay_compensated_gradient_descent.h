// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_DELAY_COMPENSATED_GRADIENT_DESCENT_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_DELAY_COMPENSATED_GRADIENT_DESCENT_H_

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {

// DC-ASGD: asynchronous gradient descent that makes up for the steps others took meanwhile.
//   var -= learning_rate * (g + variance_parameter * g * g * (var - shadow)), then shadow = var,
// where the shadow is what the variable was when this worker last changed it. Slots "shadow_0", ..., one for each
// worker, which begin as the variable does.
class DelayCompensatedGradientDescentOptimizer : public Optimizer {
 public:
  struct Options {
    int num_workers = 1;   // at least 1
    int worker_index = 0;  // below num_workers
    bool use_locking = false;
    std::string name = "DelayCompensatedGradientDescentOptimizer";
  };
  DelayCompensatedGradientDescentOptimizer(const Hyperparameter& learning_rate,
                                           const Hyperparameter& variance_parameter)
      : DelayCompensatedGradientDescentOptimizer(learning_rate, variance_parameter, Options()) {}
  DelayCompensatedGradientDescentOptimizer(const Hyperparameter& learning_rate,
                                           const Hyperparameter& variance_parameter, const Options& options)
      : Optimizer(options.name, options.use_locking),
        learning_rate_(learning_rate),
        variance_parameter_(variance_parameter),
        options_(options) {}

 protected:
  void CreateSlots(const Scope& scope, const std::vector<GraphVariable>& variables) override;
  void Prepare(const Scope& scope) override;
  Node* ApplyDense(const Scope& scope, Output gradient, const GraphVariable& v) override;
  Node* ApplySparse(const Scope& scope, Output values, Output indices, const GraphVariable& v) override;

 private:
  GraphVariable Shadow(const GraphVariable& v) const;
  Output Delta(const Scope& scope, Output gradient, Output now, Output shadow) const;

  const Hyperparameter learning_rate_, variance_parameter_;
  const Options options_;
  Output rate_, lambda_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_DELAY_COMPENSATED_GRADIENT_DESCENT_H_
