// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/ops/array/testing/run_op.h"

namespace millstream {
namespace {

// What recordings cannot hold: TensorFlow 2.21 repeats the first image's result for a whole batch.
TEST(FusedPadConv2DTest, EveryImageOfABatchHasItsOwnResult) {
  const Tensor images = Tensor::Of<float>({2, 2, 2, 1}, {1, 2, 3, 4, 10, 20, 30, 40});
  const Tensor paddings = Tensor::Of<int32_t>({4, 2}, {0, 0, 1, 0, 0, 0, 0, 0});
  const Tensor filter = Tensor::Of<float>({3, 1, 1, 1}, {1, 1, 1});
  const auto result = RunOp(
      "FusedPadConv2D", {images, paddings, filter},
      {{"mode", "REFLECT"}, {"padding", "VALID"}, {"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"T", DType::kFloat}});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto sums = (*result)[0].flat<float>();
  EXPECT_EQ(std::vector<float>(sums.begin(), sums.end()), (std::vector<float>{7, 10, 70, 100}));
}

}  // namespace
}  // namespace millstream
