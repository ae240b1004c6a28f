// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

StatusOr<Output> Build(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  const std::vector<int64_t> hidden = spec.hidden_units.empty() ? std::vector<int64_t>{100} : spec.hidden_units;
  Output x = inputs.numbers;
  for (size_t i = 0; i < hidden.size(); ++i) {
    x = layers::Dense(variables, x, hidden[i], {.name = absl::StrCat("hidden", i + 1), .activation = layers::Relu});
  }
  return layers::Dense(variables, x, spec.outputs(), {.name = "output"});
}

}  // namespace

extern const Model kMlp = {
    .name = "mlp",
    .help = "fully connected layers with relu, 100 units by default (MNIST: 97 %)",
    .loss = Model::Loss::kCrossEntropy,
    .optimizer = "adam",
    .learning_rate = 0.002,
    .sgd_learning_rate = 0.2,
    .batch_size = 100,
    .train_steps = 3000,
    .uses_categories = false,
    .build = Build,
};

}  // namespace millstream::cli
