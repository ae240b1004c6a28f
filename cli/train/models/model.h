// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_MODELS_MODEL_H_
#define MILLSTREAM_CLI_TRAIN_MODELS_MODEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millstream/graph/variables/variable_scope.h"

namespace millstream::cli {

// What a model is built for.
struct ModelSpec {
  std::vector<int64_t> dims;  // of one example's numbers
  int64_t category_columns = 0;
  int64_t buckets = 0;                // categories per column
  int64_t classes = 0;                // 0: values are predicted
  std::vector<int64_t> hidden_units;  // empty: the model's own
  int64_t seed = 1;

  int64_t width() const;                                         // numbers per example
  int64_t outputs() const { return classes > 0 ? classes : 1; }  // per example
};

struct ModelInputs {
  Output numbers;     // float [batch, width]
  Output categories;  // int32 [batch, columns]; empty if there are no columns
  Output labels;      // int32 or float [batch]
};

// A built-in model: one file with a function that makes [batch, outputs] from the inputs, and a line in models.cc.
struct Model {
  const char* name;
  const char* help;
  enum class Loss { kCrossEntropy, kSquared } loss;  // for classes; values always have the squared one
  // What works well with it if no flag says otherwise.
  const char* optimizer;
  double learning_rate;
  double sgd_learning_rate;  // for plain gradient descent, which some modes need
  int64_t batch_size;
  int64_t train_steps;
  bool uses_categories;
  // InvalidArgument (or an error in the scope's status) if the data does not suit it.
  StatusOr<Output> (*build)(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs);
};

std::span<const Model* const> AllModels();
// InvalidArgument names those that there are.
StatusOr<const Model*> FindModel(const std::string& name);

// A model with what it is trained on and judged by.
struct ModelGraph {
  ModelInputs inputs;
  Output loss;   // mean over the batch
  Output score;  // the share of right classes; 1 - loss (R2) for values
};
StatusOr<ModelGraph> BuildModel(const Model& model, const ModelSpec& spec, const VariableScope& variables);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_MODELS_MODEL_H_
