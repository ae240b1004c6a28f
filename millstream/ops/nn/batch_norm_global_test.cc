// SPDX-License-Identifier: Apache-2.0
// TensorFlow 2.21 refuses this op in new graphs, so tests/goldens has no gradient of it.
#include <gtest/gtest.h>

#include "millstream/graph/testing/gradient_check.h"

namespace millstream {
namespace {

Tensor Spread(const Shape& shape, double from) {
  Tensor t(DType::kDouble, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<double>()[i] = from + static_cast<double>((i * 7 + 3) % 11) / 8;
  return t;
}

class BatchNormGlobalGradientTest : public ::testing::TestWithParam<bool> {};

TEST_P(BatchNormGlobalGradientTest, IsTheDerivative) {
  Scope s = Scope::Root();
  FedValues fed;
  std::vector<Output> inputs;
  for (const Shape& shape : {Shape({2, 2, 2, 3}), Shape({3}), Shape({3}), Shape({3}), Shape({3})}) {
    inputs.push_back(s.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", shape}}));
    fed.emplace_back(inputs.back(), Spread(shape, 0.5));
  }
  const Output y = s.Op("BatchNormWithGlobalNormalization", inputs,
                        {{"variance_epsilon", 0.01f}, {"scale_after_normalization", GetParam()}});
  CheckGradients(s, s.Op("Mul", {y, y}), fed);
}

INSTANTIATE_TEST_SUITE_P(Scaled, BatchNormGlobalGradientTest, ::testing::Bool());

}  // namespace
}  // namespace millstream
