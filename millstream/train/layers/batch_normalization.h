// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_BATCH_NORMALIZATION_H_
#define MILLSTREAM_TRAIN_LAYERS_BATCH_NORMALIZATION_H_

#include <optional>
#include <string>

#include "millstream/graph/variables/variable_scope.h"

namespace millstream::layers {

struct BatchNormalizationOptions {
  std::string name = {};  // none: "batch_normalization", "batch_normalization_1", ...
  int axis = -1;          // of the features
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true, scale = true;                                     // whether there are a beta and a gamma
  Initializer beta_initializer = nullptr, gamma_initializer = nullptr;  // none: zeros, ones
  Initializer moving_mean_initializer = nullptr, moving_variance_initializer = nullptr;  // none: zeros, ones
  Regularizer beta_regularizer = nullptr, gamma_regularizer = nullptr;
  Constraint beta_constraint = nullptr, gamma_constraint = nullptr;
  bool trainable = true;  // false: beta and gamma are not, and averages stay as they are
  std::optional<bool> fused =
      {};  // one kernel; none: where it can, which is for images with features along axis 1 or 3
};

// tf.layers.batch_normalization: variables "<name>/gamma", "beta", "moving_mean" and "moving_variance". While training
// (a bool scalar, or known now), x is normalized by the mean and variance of the batch over all axes but one, and the
// averages of those are updated by ops in the collection "update_ops", which the train op must depend on (or run
// with):
//   scope.WithControlDependencies(nodes of "update_ops"), then Minimize(). Otherwise x is normalized by the averages.
// InvalidArgument, in the scope's status, unless rank and number of features are known.
Output BatchNormalization(const VariableScope& variables, Output x, Output training,
                          const BatchNormalizationOptions& options = {});
Output BatchNormalization(const VariableScope& variables, Output x, bool training,
                          const BatchNormalizationOptions& options = {});

// The nodes of the collection "update_ops", for WithControlDependencies().
std::vector<Node*> UpdateOps(const Scope& scope);

}  // namespace millstream::layers

#endif  // MILLSTREAM_TRAIN_LAYERS_BATCH_NORMALIZATION_H_
