// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_join.h"
#include "cli/train/models/model.h"
#include "millstream/millstream.h"
#include "millstream/train/layers/layers.h"

namespace millstream::cli {
namespace {

struct ImageSize {
  int64_t height, width, channels;
};

// Pictures have two or three dimensions; numbers in one row may be a square picture, gray or coloured.
StatusOr<ImageSize> SizeOfImages(const std::vector<int64_t>& dims) {
  if (dims.size() == 2) return ImageSize{dims[0], dims[1], 1};
  if (dims.size() == 3) return ImageSize{dims[0], dims[1], dims[2]};
  if (dims.size() == 1) {
    for (const int64_t channels : {1, 3}) {
      const auto side =
          static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(dims[0]) / static_cast<double>(channels))));
      if (side >= 4 && side * side * channels == dims[0]) return ImageSize{side, side, channels};
    }
  }
  return errors::InvalidArgument("lenet needs images, but the examples have ", absl::StrJoin(dims, "x"), " numbers");
}

// 5x5 convolution, relu, 2x2 max-pooling.
Output ConvPool(const VariableScope& variables, const char* name, Output x, int64_t filters) {
  layers::Conv2DOptions options;
  options.name = name;
  options.activation = layers::Relu;
  options.padding = "SAME";
  return layers::MaxPool(variables.scope(), layers::Conv2D(variables, x, filters, 5, options), 2, 2, "SAME");
}

StatusOr<Output> BuildLenet(const VariableScope& variables, const ModelSpec& spec, const ModelInputs& inputs) {
  ASSIGN_OR_RETURN(const ImageSize size, SizeOfImages(spec.dims));
  const Scope& s = variables.scope();
  const int64_t units = spec.flags.Integer("hidden_units");
  const auto as_int32 = [](int64_t n) { return static_cast<int32_t>(n); };
  Output x = ops::Reshape(s, inputs.numbers,
                          s.Constant({-1, as_int32(size.height), as_int32(size.width), as_int32(size.channels)}));
  x = ConvPool(variables, "conv1", x, 32);
  x = ConvPool(variables, "conv2", x, 64);
  x = layers::Flatten(s, x);
  x = layers::Dense(variables, x, units, {.name = "dense1", .activation = layers::Relu});
  return layers::Dense(variables, x, spec.classes, {.name = "output"});
}

const Registration<Model> kLenetModel({
    .name = "lenet",
    .help = "LeNet: two 5x5 convolutions with pooling, a hidden layer",
    .mnist_accuracy = "98 %",
    .example = "--model lenet --workers 4 --logdir /tmp/lenet",
    .optimizer = "adam",
    .learning_rate = 0.001,
    .sgd_learning_rate = 0.05,
    .batch_size = 64,
    .train_steps = 600,
    .flags = {{.name = "hidden_units", .default_value = "1024", .help = "size of the hidden layer"}},
    .predicts_values = false,
    .needs_images = true,
    .benchmarks = {{.name = "lenet", .optimizer = "sgd", .learning_rate = 0.05, .batch_size = 64}},
    .build = BuildLenet,
});

}  // namespace
}  // namespace millstream::cli
