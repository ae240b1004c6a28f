// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_ADAM_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_ADAM_H_

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {

// Adam. Slots "m" and "v"; the scalars beta1_power and beta2_power lie beside the variable that comes first by name.
// With a sparse gradient the moments of all rows decay, as in TensorFlow.
class AdamOptimizer : public Optimizer {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    bool use_locking = false;
    std::string name = "Adam";
  };
  explicit AdamOptimizer(const Hyperparameter& learning_rate = 0.001) : AdamOptimizer(learning_rate, Options()) {}
  AdamOptimizer(const Hyperparameter& learning_rate, const Options& options)
      : Optimizer(options.name, options.use_locking), learning_rate_(learning_rate), options_(options) {}

 protected:
  void CreateSlots(const Scope& scope, const std::vector<GraphVariable>& variables) override;
  void Prepare(const Scope& scope) override;
  Node* ApplyDense(const Scope& scope, Output gradient, const GraphVariable& v) override;
  Node* ApplySparse(const Scope& scope, Output values, Output indices, const GraphVariable& v) override;
  Node* Finish(const Scope& scope, const std::vector<Node*>& updates, absl::string_view name) override;

 private:
  Output Power(const Scope& scope, const char* name, const GraphVariable& v) const;
  Output DecayAndAdd(const Scope& scope, const GraphVariable& moment, Output decay, Output indices, Output rows) const;

  const Hyperparameter learning_rate_;
  const Options options_;
  Output rate_, beta1_, beta2_, epsilon_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_ADAM_H_
