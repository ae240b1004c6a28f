// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_LEARNING_RATE_DECAY_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_LEARNING_RATE_DECAY_H_

#include <vector>

#include "millstream/train/optimizers/optimizer.h"

namespace millstream {

// Learning rates that change with the step, as TensorFlow computes them: scalars of the type of `learning_rate` (a
// number is a float). `step` is a value of the global step, of any number type. Errors go to the scope's status.

// learning_rate * decay_rate ^ (step / decay_steps); as a staircase, with whole powers.
Output ExponentialDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                        const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase = false);
// learning_rate * e ^ (-decay_rate * step / decay_steps).
Output NaturalExpDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                       const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase = false);
// learning_rate / (1 + decay_rate * step / decay_steps).
Output InverseTimeDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                        const Hyperparameter& decay_steps, const Hyperparameter& decay_rate, bool staircase = false);
// values[0] up to and with boundaries[0], then values[1], ... InvalidArgument unless there is one value more.
Output PiecewiseConstant(const Scope& scope, Output step, const std::vector<double>& boundaries,
                         const std::vector<Hyperparameter>& values);
struct PolynomialDecayOptions {
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;  // begin again with twice, three times, ... the steps, rather than stay at the end
};
Output PolynomialDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                       const Hyperparameter& decay_steps, const PolynomialDecayOptions& options = {});
// Half a cosine from learning_rate to alpha * learning_rate.
Output CosineDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                   const Hyperparameter& decay_steps, double alpha = 0);
struct CosineRestarts {
  double t_mul = 2;  // each period is so much longer
  double m_mul = 1;  // and begins so much higher
  double alpha = 0;
};
Output CosineDecayRestarts(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                           const Hyperparameter& first_decay_steps, const CosineRestarts& options = {});
struct LinearCosine {
  double num_periods = 0.5;
  double alpha = 0;
  double beta = 0.001;
};
Output LinearCosineDecay(const Scope& scope, const Hyperparameter& learning_rate, Output step,
                         const Hyperparameter& decay_steps, const LinearCosine& options = {});
// For large batches: grows from learning_rate to scale * learning_rate in warmup_steps, then stays. With scale = number
// of workers this is the linear scaling rule.
Output LinearWarmup(const Scope& scope, const Hyperparameter& learning_rate, Output step, int64_t warmup_steps,
                    double scale);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_LEARNING_RATE_DECAY_H_
