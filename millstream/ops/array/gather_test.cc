// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/ops/array/testing/run_op.h"

namespace millstream {
namespace {

TEST(GatherTest, AlongAnyAxis) {
  const Tensor x = Iota<float>({2, 3});
  const Tensor indices = Tensor::Vector<int32_t>({2, 0});
  EXPECT_EQ(RunToString("GatherV2", {x, indices, Tensor::Scalar<int32_t>(1)}), "[2,2] [[2 0] [5 3]]");
  EXPECT_EQ(RunToString("GatherV2", {x, Tensor::Of<int16_t>({1, 2}, {1, 0}), Tensor::Scalar<int64_t>(-2)}),
            "[1,2,3] [[[3 4 5] [0 1 2]]]");
  EXPECT_EQ(RunToString("Gather", {x, Tensor::Scalar<int64_t>(1)}), "[3] [3 4 5]");
}

TEST(GatherTest, BatchDimsPairRows) {
  const Tensor x = Iota<float>({2, 2, 3});
  const Tensor indices = Tensor::Of<int32_t>({2, 2}, {2, 0, 1, 1});
  EXPECT_EQ(RunToString("GatherV2", {x, indices, Tensor::Scalar<int32_t>(2)}, {{"batch_dims", 1}}),
            "[2,2,2] [[[2 0] [5 3]] [[7 7] [10 10]]]");
}

TEST(GatherTest, NamesTheBadIndex) {
  const Tensor x = Iota<float>({2, 3});
  EXPECT_EQ(RunToString("GatherV2", {x, Tensor::Of<int32_t>({2, 2}, {0, 1, 5, 1}), Tensor::Scalar<int32_t>(0)}),
            "indices[1,0] = 5 is not in [0, 2)");
  EXPECT_EQ(RunToString("GatherV2", {x, Tensor::Vector<int32_t>({-1}), Tensor::Scalar<int32_t>(0)}),
            "indices[0] = -1 is not in [0, 2)");
  EXPECT_EQ(RunToString("GatherV2", {Tensor::Scalar(1.0f), Tensor::Vector<int32_t>({0}), Tensor::Scalar<int32_t>(0)}),
            "params must be at least 1 dimensional");
}

}  // namespace
}  // namespace millstream
