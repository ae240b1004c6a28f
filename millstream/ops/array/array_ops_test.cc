// SPDX-License-Identifier: Apache-2.0
// Ops for which there are no recorded cases in tests/goldens. Expected values were computed with TensorFlow 2.21.
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/ops/array/testing/run_op.h"

namespace millstream {
namespace {

Tensor Ints(const std::vector<int32_t>& values) { return Tensor::Vector(values); }
Tensor Pairs(const std::vector<int32_t>& values) {
  return Tensor::Vector(values).Reshaped(Shape({static_cast<int64_t>(values.size() / 2), 2}));
}
Tensor OneToN(const Shape& shape) {
  Tensor t = Iota<float>(shape);
  for (float& v : t.flat<float>()) v += 1;
  return t;
}

TEST(ScatterNdTest, AddsWhereIndicesPoint) {
  EXPECT_EQ(
      RunToString("ScatterNd", {Tensor::Of<int32_t>({3, 1}, {1, 3, 1}), Tensor::Vector<float>({1, 2, 10}), Ints({5})}),
      "[5] [0 11 0 2 0]");
  EXPECT_EQ(RunToString("ScatterNd", {Tensor::Of<int32_t>({2, 1}, {0, 2}), Iota<float>({2, 2}), Ints({3, 2})}),
            "[3,2] [[0 1] [0 0] [2 3]]");
  EXPECT_EQ(RunToString("ScatterNd", {Tensor::Of<int32_t>({1, 1}, {7}), Tensor::Vector<float>({1}), Ints({5})}),
            "indices[0] = [7] does not index into shape [5]");
  EXPECT_FALSE(RunOp("ScatterNd", {Tensor::Of<int32_t>({1, 1}, {1}), Tensor::Vector<float>({1, 2}), Ints({5})}).ok());
  EXPECT_FALSE(RunOp("ScatterNd", {Tensor::Of<int32_t>({1, 1}, {0}), Tensor::Vector<float>({1}), Ints({0})}).ok());
}

TEST(MirrorPadGradTest, FoldsBordersIn) {
  EXPECT_EQ(RunToString("MirrorPadGrad", {Iota<float>({4, 5}), Pairs({1, 0, 2, 0})}, {{"mode", "REFLECT"}}),
            "[3,3] [[7 14 14] [14 28 28] [17 34 34]]");
  EXPECT_EQ(RunToString("MirrorPadGrad", {Iota<float>({4, 5}), Pairs({1, 1, 1, 2})}, {{"mode", "SYMMETRIC"}}),
            "[2,2] [[25 20] [85 60]]");
}

TEST(UniqueTest, CountsAndKeepsNansApart) {
  const Tensor x = Tensor::Vector<float>({3, 1, 3, 3, 2, 1});
  EXPECT_EQ(RunToString("UniqueWithCounts", {x}, {}, 0), "[3] [3 1 2]");
  EXPECT_EQ(RunToString("UniqueWithCounts", {x}, {}, 1), "[6] [0 1 0 0 2 1]");
  EXPECT_EQ(RunToString("UniqueWithCounts", {x}, {}, 2), "[3] [3 2 1]");
  EXPECT_EQ(RunToString("Unique", {Tensor::Vector<float>({NAN, 0.0f, NAN, -0.0f})}, {}, 1), "[4] [0 1 2 1]");
}

TEST(DiagTest, Diagonals) {
  EXPECT_EQ(RunToString("MatrixDiag", {Iota<float>({2, 2})}), "[2,2,2] [[[0 0] [0 1]] [[2 0] [0 3]]]");
  EXPECT_EQ(RunToString("MatrixDiagPart", {Iota<float>({2, 2, 3})}), "[2,2] [[0 4] [6 10]]");
  EXPECT_EQ(RunToString("MatrixSetDiag", {Iota<float>({1, 2, 3}), Tensor::Of<float>({1, 2}, {9, 8})}),
            "[1,2,3] [[[9 1 2] [3 8 5]]]");
  EXPECT_EQ(RunToString("Diag", {OneToN({2, 2})}),
            "[2,2,2,2] [[[[1 0] [0 0]] [[0 2] [0 0]]] [[[0 0] [3 0]] [[0 0] [0 4]]]]");
  EXPECT_EQ(RunToString("DiagPart", {Iota<float>({2, 2, 2, 2})}), "[2,2] [[0 5] [10 15]]");
}

TEST(MatrixBandPartTest, KeepsABand) {
  const auto band = [](const Shape& shape, int64_t lower, int64_t upper) {
    return RunToString("MatrixBandPart", {OneToN(shape), Tensor::Scalar(lower), Tensor::Scalar(upper)});
  };
  EXPECT_EQ(band({3, 4}, 1, 0), "[3,4] [[1 0 0 0] [5 6 0 0] [0 10 11 0]]");
  EXPECT_EQ(band({3, 4}, -1, 1), "[3,4] [[1 2 0 0] [5 6 7 0] [9 10 11 12]]");
  EXPECT_EQ(band({4, 2}, 1, -1), "[4,2] [[1 2] [3 4] [0 6] [0 0]]");
  EXPECT_EQ(band({3, 4}, 5, 1), "num_lower must be negative or less or equal to number of rows (3) got: 5");
}

TEST(TopKTest, LargestFirstAndNanLast) {
  const Tensor x = Tensor::Of<float>({2, 4}, {1, 3, 2, 3, 0, -1, 5, 5});
  EXPECT_EQ(RunToString("TopKV2", {x, Tensor::Scalar<int32_t>(3)}, {}, 0), "[2,3] [[3 3 2] [5 5 0]]");
  EXPECT_EQ(RunToString("TopKV2", {x, Tensor::Scalar<int32_t>(3)}, {}, 1), "[2,3] [[1 3 2] [2 3 0]]");
  EXPECT_EQ(RunToString("TopKV2", {Tensor::Vector<float>({1, NAN, 2, 3}), Tensor::Scalar<int32_t>(4)}, {}, 1),
            "[4] [3 2 0 1]");
  EXPECT_EQ(RunToString("TopKV2", {Tensor::Vector<float>({NAN, 1, NAN, 2, 3}), Tensor::Scalar<int32_t>(1)}, {}, 1),
            "[1] [4]");
  EXPECT_EQ(RunToString("TopK", {x}, {{"k", 1}}, 1), "[2,1] [[1] [2]]");
}

TEST(SpaceToBatchTest, MovesBlocks) {
  EXPECT_EQ(RunToString("SpaceToBatchND", {Iota<float>({1, 2, 4, 1}), Ints({2, 2}), Pairs({0, 0, 2, 0})}),
            "[4,1,3,1] [[[[0] [0] [2]]] [[[0] [1] [3]]] [[[0] [4] [6]]] [[[0] [5] [7]]]]");
  EXPECT_EQ(RunToString("SpaceToBatchND", {Iota<float>({2, 3, 2}), Ints({2}), Pairs({1, 0})}),
            "[4,2,2] [[[0 0] [2 3]] [[0 0] [8 9]] [[0 1] [4 5]] [[6 7] [10 11]]]");
  EXPECT_EQ(RunToString("BatchToSpaceND", {Iota<float>({4, 1, 2, 1}), Ints({2, 2}), Pairs({0, 1, 1, 0})}),
            "[1,1,3,1] [[[[2] [1] [3]]]]");
  EXPECT_EQ(RunToString("SpaceToBatchND", {Iota<float>({1, 3, 3, 1}), Ints({2, 2}), Pairs({0, 0, 2, 0})}),
            "padded_shape[0]=3 is not divisible by block_shape[0]=2");
}

TEST(DepthToSpaceTest, BothWays) {
  EXPECT_EQ(RunToString("DepthToSpace", {Iota<float>({1, 1, 2, 8})}, {{"block_size", 2}}),
            "[1,2,4,2] [[[[0 1] [2 3] [8 9] [10 11]] [[4 5] [6 7] [12 13] [14 15]]]]");
  EXPECT_EQ(RunToString("SpaceToDepth", {Iota<float>({1, 2, 4, 2})}, {{"block_size", 2}}),
            "[1,1,2,8] [[[[0 1 2 3 8 9 10 11] [4 5 6 7 12 13 14 15]]]]");
}

TEST(SparseToDenseTest, PutsValues) {
  const auto dense = [](const Tensor& indices, const std::vector<int32_t>& shape, const Tensor& values) {
    return RunToString("SparseToDense", {indices, Tensor::Vector(shape), values, Tensor::Scalar(-1.0f)});
  };
  EXPECT_EQ(dense(Tensor::Of<int32_t>({2, 2}, {0, 1, 1, 0}), {2, 2}, Tensor::Vector<float>({5, 6})),
            "[2,2] [[-1 5] [6 -1]]");
  EXPECT_EQ(dense(Ints({1, 3}), {4}, Tensor::Scalar(7.0f)), "[4] [-1 7 -1 7]");
  EXPECT_EQ(dense(Ints({3, 1}), {4}, Tensor::Scalar(7.0f)),
            "indices[1] = [1] is out of order. Many sparse ops require sorted indices.");
  EXPECT_EQ(dense(Ints({1, 1}), {4}, Tensor::Scalar(7.0f)), "indices[1] = [1] is repeated");
  EXPECT_EQ(dense(Ints({1, 4}), {4}, Tensor::Scalar(7.0f)), "indices[1] = [4] is out of bounds: need 0 <= index < [4]");
}

TEST(StridedSliceAssignTest, WritesAndBroadcastsIntoAVariable) {
  auto variable = MakeRef<Variable>(DType::kFloat, Shape({2, 3}), "v");
  variable->Assign(Iota<float>({2, 3}));
  const Tensor before = variable->Snapshot();
  ResourceHandle handle;
  handle.name = "v";
  handle.resource = variable;
  const Tensor ref = Tensor::Scalar(handle);
  const auto assign = [&](const std::vector<int32_t>& end, const std::vector<int32_t>& strides, const Tensor& value,
                          int shrink) {
    const Status status = RunOp("ResourceStridedSliceAssign", {ref, Ints({0, 0}), Ints(end), Ints(strides), value},
                                {{"shrink_axis_mask", shrink}})
                              .status();
    return status.ok() ? variable->Snapshot().SummarizeValue(100) : std::string(status.message());
  };
  EXPECT_EQ(assign({0, 3}, {1, 2}, Tensor::Vector<float>({-1, -2}), 1), "[-1 1 -2] [3 4 5]");
  EXPECT_EQ(assign({2, 2}, {1, 1}, Tensor::Scalar(5.0f), 0), "[5 5 -2] [5 5 5]");
  EXPECT_EQ(assign({2, 2}, {1, 1}, Tensor::Of<float>({2, 1}, {6, 7}), 0), "[6 6 -2] [7 7 5]");
  EXPECT_EQ(assign({2, 2}, {1, 1}, Tensor::Vector<float>({1, 2, 3}), 0),
            "Cannot assign a value of shape [3] to a slice of shape [2,2]");
  // Readers keep what they have read.
  EXPECT_EQ(before.SummarizeValue(100), "[0 1 2] [3 4 5]");
}

}  // namespace
}  // namespace millstream
