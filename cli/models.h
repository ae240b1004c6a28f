// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_MODELS_H_
#define MILLSTREAM_CLI_MODELS_H_

#include <string>

#include "millstream/graph/scope.h"

namespace millstream::cli {

// A classifier of 28x28 images with its training op.
struct Model {
  Scope scope = Scope::Root();
  Output images;    // float [batch, 784]
  Output labels;    // float [batch, 10]
  Output loss;
  Output accuracy;
  Node* train = nullptr;
  Node* init = nullptr;
};

// softmax (784-10, SGD), mlp100 (784-100-10, Adam), mlp500 (784-500-500-10, Adam), lenet (5x5x32, 5x5x64, 1024, SGD).
// InvalidArgument for other names.
StatusOr<Model> BuildModel(const std::string& name);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_MODELS_H_
