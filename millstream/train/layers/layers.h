// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_LAYERS_H_
#define MILLSTREAM_TRAIN_LAYERS_LAYERS_H_

#include <functional>
#include <string>

#include "millstream/graph/variables/variable_scope.h"

namespace millstream::layers {

// Layers as tf.layers has them: variables "<name>/kernel" and "<name>/bias", where the name is "dense", "dense_1", ...
// unless given. Errors go to the scope's status.

using Activation = std::function<Output(const Scope&, Output)>;
Output Relu(const Scope& scope, Output x);
Output Sigmoid(const Scope& scope, Output x);
Output Tanh(const Scope& scope, Output x);

struct Options {
  std::string name = {};
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;  // none: the scope's, else Glorot's
  Initializer bias_initializer = nullptr;    // none: zeros
  Regularizer kernel_regularizer = nullptr;  // none: the scope's
  Regularizer bias_regularizer = nullptr;
  Constraint kernel_constraint = nullptr;
  Constraint bias_constraint = nullptr;
};

// The scope of a layer of that name; without name of the first of "<base>", "<base>_1", ... that is new.
VariableScope EnterLayer(const VariableScope& variables, const std::string& name, const char* base);

// activation(x * kernel + bias) for a matrix x. InvalidArgument unless the number of its columns is known.
Output Dense(const VariableScope& variables, Output x, int64_t units, const Options& options = {});

// Convolution of images [batch, height, width, channels] with a square window.
struct Conv2DOptions : Options {
  int64_t stride = 1;
  std::string padding = "VALID";  // or "SAME"
};
Output Conv2D(const VariableScope& variables, Output x, int64_t filters, int64_t window,
              const Conv2DOptions& options = {});
Output MaxPool(const Scope& scope, Output x, int64_t window, int64_t stride, absl::string_view padding = "VALID");
Output AveragePool(const Scope& scope, Output x, int64_t window, int64_t stride, absl::string_view padding = "VALID");

// [batch, ...] as [batch, size].
Output Flatten(const Scope& scope, Output x);
// While training: elements become 0 with probability `rate`, the others grow by 1 / (1 - rate). `training` is a bool
// scalar; the second form always trains.
Output Dropout(const Scope& scope, Output x, double rate, Output training, Seed seed = {});
Output Dropout(const Scope& scope, Output x, double rate, Seed seed = {});
// The same as a function, tf.nn.dropout(), rather than as a layer with a name scope of its own.
Output DropElements(const Scope& scope, Output x, double rate, Seed seed = {});
// At a rate that each step is fed: a scalar.
Output DropElements(const Scope& scope, Output x, Output rate, Seed seed = {});

// Batch normalization: batch_normalization.h. Losses and metrics with weights and collections: losses.h, metrics.h.

// The mean over the batch of the cross entropy between softmax(logits) and labels: [batch, classes] of the same
// floating type, or [batch] of integers, which are class numbers.
Output SoftmaxCrossEntropy(const Scope& scope, Output logits, Output labels);
// How many of the batch have their largest logit at their label: a float in [0, 1]. Labels as above.
Output Accuracy(const Scope& scope, Output logits, Output labels);

}  // namespace millstream::layers

#endif  // MILLSTREAM_TRAIN_LAYERS_LAYERS_H_
