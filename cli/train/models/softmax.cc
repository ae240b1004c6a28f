// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

StatusOr<Output> BuildSoftmax(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  return layers::Dense(variables, inputs.numbers, spec.classes, {.name = "softmax"});
}

const Registration<Model> kSoftmaxModel({
    .name = "softmax",
    .help = "softmax regression: one layer",
    .mnist_accuracy = "92 %",
    .optimizer = "sgd",
    .learning_rate = 0.5,
    .sgd_learning_rate = 0.5,
    .batch_size = 100,
    .train_steps = 2000,
    .predicts_values = false,
    .benchmarks = {{.name = "softmax", .optimizer = "sgd", .learning_rate = 0.5, .batch_size = 100}},
    .build = BuildSoftmax,
});

}  // namespace
}  // namespace millstream::cli
