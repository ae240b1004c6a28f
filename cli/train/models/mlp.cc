// SPDX-License-Identifier: Apache-2.0
#include "cli/train/models/model.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

StatusOr<Output> BuildMlp(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  const std::vector<int64_t> hidden = spec.flags.Integers("hidden_units");
  Output x = inputs.numbers;
  for (size_t i = 0; i < hidden.size(); ++i) {
    x = layers::Dense(variables, x, hidden[i], {.name = absl::StrCat("hidden", i + 1), .activation = layers::Relu});
  }
  return layers::Dense(variables, x, spec.outputs(), {.name = "output"});
}

const Registration<Model> kMlpModel({
    .name = "mlp",
    .help = "fully connected hidden layers with relu",
    .mnist_accuracy = "97 %",
    .is_default = true,
    .optimizer = "adam",
    .learning_rate = 0.002,
    .sgd_learning_rate = 0.2,
    .batch_size = 100,
    .train_steps = 3000,
    .flags = {{.name = "hidden_units",
               .type = OwnFlag::Type::kPositiveIntegers,
               .default_value = "100",
               .help = "sizes of the hidden layers, e.g. 500,500"}},
    .benchmarks = {{.name = "mlp100", .optimizer = "adam", .learning_rate = 0.001, .batch_size = 100},
                   {.name = "mlp500",
                    .flags = {{"hidden_units", "500,500"}},
                    .optimizer = "adam",
                    .learning_rate = 0.001,
                    .batch_size = 32}},
    .build = BuildMlp,
});

}  // namespace
}  // namespace millstream::cli
