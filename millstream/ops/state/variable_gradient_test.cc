// SPDX-License-Identifier: Apache-2.0
// Gradients that arrive at the handle of a variable. Recordings of TensorFlow cannot be compared with differences
// there: a handle is not fed.
#include <gtest/gtest.h>

#include "millstream/graph/testing/gradient_check.h"

namespace millstream {
namespace {

class VariableGradientTest : public ::testing::Test {
 protected:
  VariableGradientTest() {
    const Output x = scope_.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", Shape({4, 2})}});
    Tensor value(DType::kDouble, {4, 2});
    for (int64_t i = 0; i < value.num_elements(); ++i) value.data<double>()[i] = static_cast<double>(i * i) / 8 - 1;
    fed_.emplace_back(x, std::move(value));
    handle_ = scope_.Op("VarHandleOp", {}, {{"dtype", DType::kDouble}, {"shape", Shape({4, 2})}, {"shared_name", "v"}});
    Node* assign = scope_.Add("AssignVariableOp", {handle_, x}, {{"dtype", DType::kDouble}});
    after_ = scope_.WithControlDependencies({assign});
  }

  // Squares, so that each element of the gradient of `y` is another.
  void Check(Output y) { CheckGradientsAt(scope_, scope_.Op("Mul", {y, y}), {handle_}, fed_); }

  Scope scope_ = Scope::Root();
  Scope after_ = scope_;  // what reads the variable
  Output handle_;
  FedValues fed_;
};

TEST_F(VariableGradientTest, Read) { Check(after_.Op("ReadVariableOp", {handle_}, {{"dtype", DType::kDouble}})); }

TEST_F(VariableGradientTest, Gather) {
  const Output rows = scope_.Const(Tensor::Of<int32_t>({3}, {2, 0, 2}));
  Check(after_.Op("ResourceGather", {handle_, rows}, {{"dtype", DType::kDouble}}));
}

TEST_F(VariableGradientTest, GatherNd) {
  const Output places = scope_.Const(Tensor::Of<int32_t>({3, 2}, {2, 0, 3, 1, 2, 0}));
  Check(after_.Op("ResourceGatherNd", {handle_, places}, {{"dtype", DType::kDouble}}));
}

}  // namespace
}  // namespace millstream
