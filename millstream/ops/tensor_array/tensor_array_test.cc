// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

std::vector<float> Floats(const Tensor& t) { return {t.flat<float>().begin(), t.flat<float>().end()}; }

class TensorArrayTest : public ::testing::Test {
 protected:
  using Attributes = std::vector<std::pair<std::string, AttrValue>>;

  Edge Make(int32_t size, Attributes attrs = {}) {
    attrs.push_back({"dtype", DType::kFloat});
    OpRunner op(env_, "TensorArrayV3", attrs);
    return (*op.Run({Tensor::Scalar<int32_t>(size)}))[0];
  }
  Edge GradientsOf(const Edge& array, const std::string& source = "gradients") {
    OpRunner op(env_, "TensorArrayGradV3", {{"source", source}});
    return (*op.Run({array, flow_}))[0];
  }
  Status Write(const Edge& array, int32_t index, Tensor value) {
    return write_.Run({array, Tensor::Scalar<int32_t>(index), std::move(value), flow_}).status();
  }
  StatusOr<Tensor> Read(const Edge& array, int32_t index) {
    return read_.Value({array, Tensor::Scalar<int32_t>(index), flow_});
  }
  int32_t Size(const Edge& array) { return size_.Value({array, flow_})->scalar<int32_t>(); }

  OpRunner::Env env_;
  const Tensor flow_ = Tensor::Scalar<float>(0);
  OpRunner write_{env_, "TensorArrayWriteV3", {{"T", DType::kFloat}}};
  OpRunner read_{env_, "TensorArrayReadV3", {{"dtype", DType::kFloat}}};
  OpRunner size_{env_, "TensorArraySizeV3"};
  OpRunner gather_{env_, "TensorArrayGatherV3", {{"dtype", DType::kFloat}}};
  OpRunner scatter_{env_, "TensorArrayScatterV3", {{"T", DType::kFloat}}};
  OpRunner concat_{env_, "TensorArrayConcatV3", {{"dtype", DType::kFloat}}};
  OpRunner split_{env_, "TensorArraySplitV3", {{"T", DType::kFloat}}};
};

TEST_F(TensorArrayTest, WritesAndReadsOnce) {
  const Edge array = Make(2);
  EXPECT_TRUE(Write(array, 0, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(Write(array, 0, Tensor::Vector<float>({1, 2})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(array, 2, Tensor::Vector<float>({1, 2})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(array, -1, Tensor::Vector<float>({1, 2})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Floats(*Read(array, 0)), std::vector<float>({1, 2}));
  EXPECT_EQ(Read(array, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read(array, 1).status().code(),
            absl::StatusCode::kInvalidArgument);  // nothing there, shape unknown
  EXPECT_EQ(Read(array, 5).status().code(), absl::StatusCode::kInvalidArgument);
  OpRunner close(env_, "TensorArrayCloseV3");
  EXPECT_TRUE(close.Run({array}).ok());
  EXPECT_EQ(Write(array, 1, Tensor::Vector<float>({1, 2})).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TensorArrayTest, EveryExecutionMakesAnotherArray) {
  const Edge a = Make(1), b = Make(1);
  EXPECT_TRUE(Write(a, 0, Tensor::Scalar<float>(1)).ok());
  EXPECT_TRUE(Write(b, 0, Tensor::Scalar<float>(2)).ok());
  EXPECT_EQ(Read(a, 0)->scalar<float>(), 1);
}

TEST_F(TensorArrayTest, DynamicArraysGrowAndShapesAreKept) {
  const Edge array = Make(0, {{"dynamic_size", true}, {"identical_element_shapes", true}, {"clear_after_read", false}});
  EXPECT_TRUE(Write(array, 3, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(Size(array), 4);
  EXPECT_EQ(Write(array, 0, Tensor::Vector<float>({1})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Floats(*Read(array, 0)), std::vector<float>({0, 0}));
  EXPECT_EQ(Floats(*Read(array, 3)), std::vector<float>({1, 2}));
  EXPECT_EQ(Floats(*Read(array, 3)), std::vector<float>({1, 2}));
  EXPECT_EQ(Write(array, INT32_MAX, Tensor::Vector<float>({1, 2})).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TensorArrayTest, GatherAndScatter) {
  const Edge array = Make(3);
  ASSERT_TRUE(
      scatter_.Run({array, Tensor::Vector<int32_t>({2, 0, 1}), Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), flow_})
          .ok());
  const Tensor out = *gather_.Value({array, Tensor::Vector<int32_t>({0, 2}), flow_});
  EXPECT_EQ(out.shape(), Shape({2, 2}));
  EXPECT_EQ(Floats(out), std::vector<float>({3, 4, 1, 2}));
  EXPECT_FALSE(
      scatter_.Run({array, Tensor::Vector<int32_t>({2}), Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), flow_}).ok());
  EXPECT_EQ(gather_.Run({array, Tensor(DType::kInt32, Shape({0})), flow_}).status().code(),
            absl::StatusCode::kUnimplemented);
  const Edge known = Make(0, {{"element_shape", PartialShape({2})}});
  EXPECT_EQ(gather_.Value({known, Tensor(DType::kInt32, Shape({0})), flow_})->shape(), Shape({0, 2}));
}

TEST_F(TensorArrayTest, ConcatAndSplit) {
  const Edge array = Make(2);
  const Tensor value = Tensor::Of<float>({3, 1}, {1, 2, 3}), lengths = Tensor::Vector<int64_t>({2, 1});
  ASSERT_TRUE(split_.Run({array, value, lengths, flow_}).ok());
  const auto out = *concat_.Run({array, flow_});
  EXPECT_EQ(Floats(out[0].tensor), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(out[0].tensor.shape(), Shape({3, 1}));
  EXPECT_EQ(out[1].tensor.data<int64_t>()[0], 2);
  for (const Tensor& bad : {Tensor::Vector<int64_t>({2, 2}), Tensor::Vector<int64_t>({-1, 4}),
                            Tensor::Vector<int64_t>({1, 1}), Tensor::Vector<int64_t>({3})}) {
    EXPECT_EQ(split_.Run({Make(2), value, bad, flow_}).status().code(), absl::StatusCode::kInvalidArgument);
  }
  const Edge scalars = Make(1);
  ASSERT_TRUE(Write(scalars, 0, Tensor::Scalar<float>(1)).ok());
  EXPECT_EQ(concat_.Run({scalars, flow_}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TensorArrayTest, GradientsAddUp) {
  const Edge array = Make(3, {{"dynamic_size", true}});
  ASSERT_TRUE(Write(array, 0, Tensor::Vector<float>({1, 2})).ok());
  ASSERT_TRUE(Write(array, 1, Tensor::Vector<float>({3})).ok());
  const Edge grads = GradientsOf(array);
  ASSERT_TRUE(Write(grads, 0, Tensor::Vector<float>({10, 20})).ok());
  ASSERT_TRUE(Write(GradientsOf(array), 0, Tensor::Vector<float>({1, 1})).ok());  // the same array
  EXPECT_EQ(Write(grads, 0, Tensor::Vector<float>({1})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Floats(*Read(grads, 0)), std::vector<float>({11, 21}));
  EXPECT_EQ(Floats(*Read(grads, 1)), std::vector<float>({0}));  // zeros of the forward element's shape
  EXPECT_EQ(Floats(*Read(GradientsOf(array, "gradients_1"), 0)), std::vector<float>({0, 0}));
  EXPECT_EQ(Write(array, 3, Tensor::Vector<float>({1})).code(),
            absl::StatusCode::kInvalidArgument);  // no longer grows
}

TEST_F(TensorArrayTest, SharedValuesAreNotChangedByAggregation) {
  const Edge array = Make(1);
  ASSERT_TRUE(Write(array, 0, Tensor::Vector<float>({0})).ok());
  const Edge grads = GradientsOf(array);
  const Tensor mine = Tensor::Vector<float>({1});
  ASSERT_TRUE(Write(grads, 0, mine).ok());
  ASSERT_TRUE(Write(grads, 0, mine).ok());
  EXPECT_EQ(mine.data<float>()[0], 1);
  EXPECT_EQ(Read(grads, 0)->data<float>()[0], 2);
}

}  // namespace
}  // namespace millstream
