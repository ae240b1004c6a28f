// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

StatusOr<Output> Build(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  return layers::Dense(variables, inputs.numbers, spec.outputs(), {.name = "linear"});
}

}  // namespace

extern const Model kLinear = {
    .name = "linear",
    .help = "linear regression with the squared loss; on classes, of their indicators (MNIST: 85 %)",
    .loss = Model::Loss::kSquared,
    .optimizer = "sgd",
    .learning_rate = 0.01,
    .sgd_learning_rate = 0.01,
    .batch_size = 100,
    .train_steps = 2000,
    .uses_categories = false,
    .build = Build,
};

}  // namespace millstream::cli
