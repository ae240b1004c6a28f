// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

StatusOr<Output> BuildLinear(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  return layers::Dense(variables, inputs.numbers, spec.outputs(), {.name = "linear"});
}

const Registration<Model> kLinearModel({
    .name = "linear",
    .help = "linear regression with the squared loss; for classes, on their one-hot vectors",
    .mnist_accuracy = "85 %",
    .optimizer = "sgd",
    .learning_rate = 0.01,
    .sgd_learning_rate = 0.01,
    .batch_size = 100,
    .train_steps = 2000,
    .loss = Model::Loss::kSquared,
    .build = BuildLinear,
});

}  // namespace
}  // namespace millstream::cli
