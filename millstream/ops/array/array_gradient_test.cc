// SPDX-License-Identifier: Apache-2.0
// Gradients of the ops for which tests/goldens has none.
#include <gtest/gtest.h>

#include "millstream/graph/testing/gradient_check.h"

namespace millstream {
namespace {

// A placeholder of doubles and distinct values for it.
class ArrayGradientTest : public ::testing::Test {
 protected:
  Output Input(const Shape& shape) {
    const Output x = scope_.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", shape}});
    Tensor value(DType::kDouble, shape);
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      value.data<double>()[i] = static_cast<double>((i * 7 + 3) % 23) / 4 - 1 + static_cast<double>(i) / 64;
    }
    values_.emplace_back(x, std::move(value));
    return x;
  }
  Output Ints(const Shape& shape, std::initializer_list<int32_t> values) {
    return scope_.Const(Tensor::Of<int32_t>(shape, values));
  }

  // Squares, so that each element of the gradient of `y` is another.
  void Check(Output y) {
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    CheckGradients(scope_, scope_.Op("Mul", {y, y}), values_);
  }

  Scope scope_ = Scope::Root();
  FedValues values_;
};

TEST_F(ArrayGradientTest, ScatterNd) {
  Check(scope_.Op("ScatterNd", {Ints({3, 1}, {1, 3, 1}), Input({3, 2}), Ints({2}, {4, 2})}));
}

TEST_F(ArrayGradientTest, MirrorPadTwice) {
  const Output paddings = Ints({2, 2}, {1, 1, 2, 0});
  Check(scope_.Op("MirrorPadGrad", {scope_.Op("MirrorPad", {Input({3, 4}), paddings}, {{"mode", "REFLECT"}}), paddings},
                  {{"mode", "REFLECT"}}));
}

TEST_F(ArrayGradientTest, Diagonals) {
  const Output square = scope_.Op("MatrixSetDiag", {scope_.Op("MatrixDiag", {Input({2, 3})}), Input({2, 3})});
  Check(scope_.Op("MatrixDiagPart", {scope_.Op("MatMul", {Input({3, 2}), scope_.Op("MatrixDiagPart", {square})})}));
}

TEST_F(ArrayGradientTest, DiagonalsOfWideMatrices) { Check(scope_.Op("MatrixDiagPart", {Input({2, 2, 3})})); }

TEST_F(ArrayGradientTest, DiagAndBack) { Check(scope_.Op("DiagPart", {scope_.Op("Diag", {Input({2, 2})})})); }

TEST_F(ArrayGradientTest, MatrixBandPart) {
  Check(scope_.Op("MatrixBandPart", {Input({3, 4}), scope_.Const(int64_t{1}), scope_.Const(int64_t{0})}));
}

TEST_F(ArrayGradientTest, Blocks) {
  const Output block = Ints({2}, {2, 2});
  const Output y = scope_.Op("SpaceToBatchND", {Input({1, 2, 4, 1}), block, Ints({2, 2}, {0, 0, 2, 0})});
  Check(scope_.Op("BatchToSpaceND", {y, block, Ints({2, 2}, {0, 1, 1, 0})}));
}

TEST_F(ArrayGradientTest, DepthAndSpace) {
  const Output y = scope_.Op("DepthToSpace", {Input({1, 1, 2, 8})}, {{"block_size", 2}});
  Check(scope_.Op("SpaceToDepth", {scope_.Op("Mul", {y, y})}, {{"block_size", 2}}));
}

TEST_F(ArrayGradientTest, TopK) { Check(scope_.Op("TopKV2", {Input({2, 5}), scope_.Const(3)})); }

TEST_F(ArrayGradientTest, TopKOfOldGraphs) { Check(scope_.Op("TopK", {Input({2, 5})}, {{"k", 3}})); }

TEST_F(ArrayGradientTest, EagerConst) { Check(scope_.Op("_EagerConst", {Input({3})})); }

TEST_F(ArrayGradientTest, SparseToDense) {
  const Output indices = Ints({2, 2}, {0, 1, 1, 0});
  Check(scope_.Op("SparseToDense", {indices, Ints({2}, {2, 3}), Input({2}), Input({})}));
}

}  // namespace
}  // namespace millstream
