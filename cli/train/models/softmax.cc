// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

StatusOr<Output> Build(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  if (spec.classes == 0)
    return errors::InvalidArgument(
        "softmax tells classes apart, but the labels are values; train linear, mlp or wide-deep");
  return layers::Dense(variables, inputs.numbers, spec.classes, {.name = "softmax"});
}

}  // namespace

extern const Model kSoftmax = {
    .name = "softmax",
    .help = "softmax regression: one layer (MNIST: 92 %)",
    .loss = Model::Loss::kCrossEntropy,
    .optimizer = "sgd",
    .learning_rate = 0.5,
    .sgd_learning_rate = 0.5,
    .batch_size = 100,
    .train_steps = 2000,
    .uses_categories = false,
    .build = Build,
};

}  // namespace millstream::cli
