// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_MODELS_MODEL_H_
#define MILLSTREAM_CLI_TRAIN_MODELS_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/registry.h"
#include "cli/train/settings/own_flags.h"
#include "millstream/graph/variables/variable_scope.h"

namespace millstream::cli {

// What a model is built for.
struct ModelSpec {
  std::vector<int64_t> dims;  // of one example's numbers
  int64_t category_columns = 0;
  int64_t buckets = 0;  // categories per column
  int64_t classes = 0;  // 0: values are predicted
  OwnFlagValues flags;  // the model's own
  int64_t seed = 1;

  int64_t width() const;                                         // numbers per example
  int64_t outputs() const { return classes > 0 ? classes : 1; }  // per example
};

struct ModelInputs {
  Output numbers;     // float [batch, width]
  Output categories;  // int32 [batch, columns]; empty if there are no columns
  Output labels;      // int32 or float [batch]
};

// A built-in model: one file in this folder that registers it (cli/registry.h).
struct Model {
  static constexpr char kKind[] = "model";
  enum class Loss { kCrossEntropy, kSquared };
  struct Benchmark {
    std::string name = {};
    GivenFlags flags = {};
    std::string optimizer = {};
    double learning_rate = 0;
    int64_t batch_size = 0;
  };

  std::string name = {};
  std::string help = {};            // one line
  std::string mnist_accuracy = {};  // with these defaults, for the documentation
  std::string example = {};         // flags of `millstream train` worth showing; "": none
  bool is_default = false;          // one model is trained where none is named
  // What works well with it if no flag says otherwise.
  std::string optimizer = {};
  double learning_rate = 0;
  double sgd_learning_rate = 0;  // for plain gradient descent, which some modes need
  int64_t batch_size = 0;
  int64_t train_steps = 0;
  std::vector<OwnFlag> flags = {};
  // What it can learn.
  Loss loss = Loss::kCrossEntropy;  // for classes; values always have the squared one
  bool uses_categories = false;
  bool predicts_values = true;
  bool needs_images = false;  // others take any numbers
  std::vector<Benchmark> benchmarks = {};
  // Makes [batch, outputs] from the inputs. InvalidArgument, or an error in the scope's status, if the data does not
  // suit it.
  StatusOr<Output> (*build)(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) = nullptr;
};

const Model& DefaultModel();
std::string ModelsThatUseCategories();  // their names, with commas

// A model with what it is trained on and judged by.
struct ModelGraph {
  ModelInputs inputs;
  Output loss;   // mean over the batch
  Output score;  // the share of right classes; 1 - loss (R2) for values
};
// InvalidArgument names models that suit the data where this one does not.
StatusOr<ModelGraph> BuildModel(const Model& model, const ModelSpec& spec, const VariableScope& variables);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_MODELS_MODEL_H_
