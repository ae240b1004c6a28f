// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_OPTIMIZERS_LOSS_SCALE_OPTIMIZER_H_
#define MILLSTREAM_TRAIN_OPTIMIZERS_LOSS_SCALE_OPTIMIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/train/optimizers/wrapping_optimizer.h"

namespace millstream {

// By what a loss is multiplied, so that small gradients do not vanish in 16-bit floats.
struct LossScale {
  bool dynamic = true;
  // The scale, or the first one of a dynamic scale: at least 1. A dynamic one is multiplied by `multiplier` after
  // `increment_period` steps with finite gradients, and divided (but not below 1) after a step without.
  double value = 32768;
  int64_t increment_period = 2000;
  double multiplier = 2;

  static LossScale Fixed(double value) { return {.dynamic = false, .value = value}; }
};

// tf.train.experimental.MixedPrecisionLossScaleOptimizer: gradients of the scaled loss, divided by the scale. A step
// whose gradients are not finite changes no variable if the scale is dynamic. Variables "current_loss_scale" and
// "good_steps" keep such a scale. To work with 16-bit floats, sessions need a ConfigProto with auto_mixed_precision
// (SessionOptions::FromProto()).
class LossScaleOptimizer : public WrappingOptimizer {
 public:
  // InvalidArgument (in the scope's status, when it is used) if the scale makes no sense.
  explicit LossScaleOptimizer(std::shared_ptr<Optimizer> optimizer, LossScale scale = {})
      : WrappingOptimizer(optimizer, optimizer->name(), false), scale_(scale) {}

  std::vector<GradientAndVariable> ComputeGradients(const Scope& scope, Output loss,
                                                    const ComputeGradientsOptions& options = {}) override;
  Node* ApplyGradients(const Scope& scope, const std::vector<GradientAndVariable>& gradients,
                       const ApplyGradientsOptions& options = {}) override;
  std::vector<GraphVariable> Variables() const override;

 private:
  bool MakeVariables(const Scope& scope);
  Output Scale(const Scope& scope);
  // Changes the scale after a step; a node.
  Output Update(const Scope& scope, Output is_finite);
  Output AfterFinite(const Scope& scope) const;
  Output Grow(const Scope& scope) const;
  Node* AfterOverflow(const Scope& scope) const;

  const LossScale scale_;
  GraphVariable current_, good_steps_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_OPTIMIZERS_LOSS_SCALE_OPTIMIZER_H_
