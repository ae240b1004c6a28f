// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/layers.h"

#include "millstream/millstream.h"
#include "millstream/train/losses/losses.h"
#include "millstream/train/losses/regularizers.h"
#include "millstream/train/operators/operators.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using layers::Conv2DOptions;

Output Matrix(const Scope& s) { return Placeholder(s, "x", PartialShape({-1, 4})); }

void Dense(const Scope& s) {
  const VariableScope v(s);
  const Output x = layers::Dense(v, Matrix(s), 5, {.activation = layers::Relu});
  layers::Dense(v, x, 3,
                {.name = "top", .activation = layers::Tanh, .kernel_initializer = TruncatedNormalInitializer(0, 0.1)});
  layers::Dense(v, x, 2, {.activation = layers::Sigmoid, .use_bias = false});
}

void Conv(const Scope& s) {
  const VariableScope v(s);
  Conv2DOptions first, second;
  first.activation = layers::Relu;
  second.use_bias = false;
  second.stride = 2;
  second.padding = "SAME";
  Output x = layers::Conv2D(v, Placeholder(s, "images", PartialShape({-1, 8, 8, 3})), 4, 3, first);
  x = layers::MaxPool(s, x, 2, 2);
  x = layers::Conv2D(v, x, 6, 3, second);
  x = layers::AveragePool(s, x, 2, 1, "SAME");
  layers::Dense(v, layers::Flatten(s, x), 10);
}

void Dropout(const Scope& s) {
  const Output training =
      OpNamed(s, "training", "PlaceholderWithDefault", {Tensor::Scalar(false)}, {{"shape", PartialShape(Shape())}});
  Output x = layers::Dense(VariableScope(s), Matrix(s), 5);
  x = layers::Dropout(s, x, 0.4, training, 3);
  layers::Dropout(s, x, 0.25, 4);
}

void Regularized(const Scope& s) {
  const VariableScope v(s);
  Output x = layers::Dense(v, Matrix(s), 5,
                           {.kernel_regularizer = L2Regularizer(0.01), .bias_regularizer = L1Regularizer(0.02)});
  x = layers::Dense(v.Enter("other").WithRegularizer(L1L2Regularizer(0.1, 0.2)), x, 3);
  losses::GetRegularizationLoss(s);
  losses::MeanSquaredError(s, operators::ZerosLike(s, x), x);
  losses::GetTotalLoss(s);
}

void Reused(const Scope& s) {
  const VariableScope v(s);
  const Output x = Matrix(s);
  layers::Dense(v.Enter("model"), x, 3, {.name = "a"});
  layers::Dense(v.Enter("model", VariableScope::Reuse::kYes), x, 3, {.name = "a"});
}

void OnDevices(const Scope& root) {
  const VariableScope v = WithReplicaDevices(root, {.ps_tasks = 3});
  const Scope& s = v.scope();
  const Output x = layers::Dense(v, layers::Dense(v, Matrix(s), 5, {.activation = layers::Relu}), 3);
  const Output loss = L2Loss(s, x);
  AdamOptimizer().Minimize(s, loss, CreateGlobalStep(v));
}

void Partitioned(const Scope& s) {
  const VariableScope v = VariableScope(s).Enter("model").WithPartitioner(FixedSizePartitioner(2));
  layers::Dense(v, Matrix(v.scope()), 4);
}

}  // namespace

Programs LayerPrograms() {
  return {
      {"dense", Dense},
      {"conv", Conv},
      {"dropout", Dropout},
      {"regularized", Regularized},
      {"reused", Reused},
      {"on_devices", OnDevices},
      {"partitioned", Partitioned},
  };
}

}  // namespace millstream::twins
