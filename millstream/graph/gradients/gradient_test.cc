// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/graph/shape_refiner.h"
#include "millstream/graph/testing/gradient_check.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

OP("GradientTestNone").Input("x: T").Output("y: T").Attr("T: type").Shape(UnchangedShape);

Output Input(const Scope& s, PartialShape shape, DType dtype = DType::kDouble) {
  return s.WithOpName("x").Op("Placeholder", {}, {{"dtype", dtype}, {"shape", std::move(shape)}});
}

Tensor Doubles(const Shape& shape, double start = 0.3) {
  Tensor t(DType::kDouble, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.flat<double>()[i] = start + 0.37 * static_cast<double>(i % 5) - 0.11 * static_cast<double>(i % 3);
  return t;
}

int CountOps(const Scope& s, absl::string_view type) {
  int n = 0;
  for (const auto& node : s.graph()->nodes()) n += node != nullptr && node->Is(type);
  return n;
}

TEST(GradientTest, ChainWithSeveralUses) {
  Scope s = Scope::Root();
  Output x = Input(s, {2, 3}), w = Input(s, {3, 2});
  Output h = s.Op("Tanh", {s.Op("MatMul", {x, w})});
  Output y = s.Op("AddV2", {s.Op("Mul", {h, h}), s.Op("MatMul", {s.Op("Square", {x}), w})});
  CheckGradients(s, y, {{x, Doubles({2, 3})}, {w, Doubles({3, 2}, -0.4)}});
  EXPECT_GT(CountOps(s, "AddN"), 0);
}

TEST(GradientTest, BroadcastWithKnownShapesNeedsNoShapeOps) {
  Scope s = Scope::Root();
  Output x = Input(s, {2, 3}), b = Input(s, {3}), c = Input(s, {2, 1}), k = Input(s, Shape());
  Output y = s.Op("Mul", {s.Op("AddV2", {s.Op("Mul", {x, b}), c}), k});
  CheckGradients(s, y, {{x, Doubles({2, 3})}, {b, Doubles({3})}, {c, Doubles({2, 1})}, {k, Doubles(Shape())}});
  EXPECT_EQ(CountOps(s, "BroadcastGradientArgs"), 0);
  EXPECT_EQ(CountOps(s, "Reshape"), 0);
}

TEST(GradientTest, BroadcastOfAPartlyKnownShape) {
  Scope s = Scope::Root();
  Output x = Input(s, {-1, 3}), b = Input(s, {3});
  Output y = s.Op("Mul", {x, b});
  CheckGradients(s, y, {{x, Doubles({4, 3})}, {b, Doubles({3})}});
  EXPECT_EQ(CountOps(s, "BroadcastGradientArgs"), 0);
}

TEST(GradientTest, BroadcastOfUnknownShapes) {
  Scope s = Scope::Root();
  Output x = Input(s, PartialShape()), b = Input(s, PartialShape());
  Output y = s.Op("Mul", {x, b});
  CheckGradients(s, y, {{x, Doubles({4, 1})}, {b, Doubles({2, 1, 3})}});
}

TEST(GradientTest, SecondDerivative) {
  Scope s = Scope::Root();
  Output x = Input(s, {3});
  Output y = s.Op("Mul", {s.Op("Square", {x}), s.Op("Tanh", {x})});
  std::vector<Grad> first;
  ASSERT_TRUE(AddSymbolicGradients(s, {y}, {x}, {}, &first).ok());
  CheckGradients(s, first[0].dense, {{x, Doubles({3})}});
}

TEST(GradientTest, NoneWhereNothingArrives) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), other = Input(s, {2}), i = Input(s, {2}, DType::kInt32);
  Output y = s.Op("Mul", {s.Op("StopGradient", {x}), s.Op("Cast", {i}, {{"DstT", DType::kDouble}})});
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, {y}, {x, other, i}, {}, &grads).ok());
  for (const Grad& g : grads) EXPECT_TRUE(g.IsNone());
}

TEST(GradientTest, GradientOfItself) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, {x}, {x}, {}, &grads).ok());
  Tensor value;
  ASSERT_TRUE(s.ConstantValue(grads[0].dense, &value));
  EXPECT_EQ(value.flat<double>()[1], 1.0);
  EXPECT_EQ(grads[0].dense.node->name(), "gradients/grad_ys_0");
}

TEST(GradientTest, StopGradientsGivesPartialDerivatives) {
  Scope s = Scope::Root();
  Output x = Input(s, Shape());
  Output a = s.Op("Square", {x});
  Output y = s.Op("Mul", {a, x});
  GradientOptions options;
  options.stop_gradients = {a};
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, {y}, {x, a}, {}, &grads, options).ok());
  auto values = Evaluate(s, {{x, Tensor::Scalar(3.0)}}, {grads[0].dense, grads[1].dense});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_DOUBLE_EQ((*values)[0].scalar<double>(), 9.0);
  EXPECT_DOUBLE_EQ((*values)[1].scalar<double>(), 3.0);
}

TEST(GradientTest, ErrorsNameTheNode) {
  Scope s = Scope::Root();
  Output x = Input(s, {2});
  Output y = s.WithOpName("odd").Op("GradientTestNone", {x});
  std::vector<Grad> grads;
  Status status = AddSymbolicGradients(s, {y}, {x}, {}, &grads);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "No gradient defined for operation 'odd' (op type: GradientTestNone)");
  status = AddSymbolicGradients(s, {x}, {x}, {Input(s, {3})}, &grads);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("grad_ys"));
  status = AddSymbolicGradients(s, {x}, {x}, {x, x}, &grads);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(GradientTest, SparseGradientsStaySparse) {
  Scope s = Scope::Root();
  Output table = Input(s, {4, 2});
  Output axis = s.Const<int32_t>(0);
  Output a = s.Op("GatherV2", {table, s.Constant({1, 3, 1}), axis});
  Output b = s.Op("GatherV2", {table, s.Constant({0, 3, 2}), axis});
  Output y = s.Op("Mul", {a, b});
  std::vector<Grad> grads = CheckGradients(s, y, {{table, Doubles({4, 2})}});
  ASSERT_EQ(grads.size(), 1u);
  EXPECT_TRUE(grads[0].IsSparse());
  EXPECT_TRUE(grads[0].values.node->Is("ConcatV2"));
}

TEST(GradientTest, GateAndTreeAndColocation) {
  Scope s = Scope::Root();
  Output x = Input(s, {2}), z = Input(s, {2});
  Output y = s.WithOpName("product").Op("Mul", {s.Op("Mul", {x, z}), x});
  GradientOptions options;
  options.gate_gradients = true;
  options.colocate_gradients_with_ops = true;
  options.aggregation = GradientOptions::Aggregation::kTree;
  std::vector<Grad> grads;
  ASSERT_TRUE(AddSymbolicGradients(s, {y}, {x, z}, {}, &grads, options).ok());
  EXPECT_EQ(CountOps(s, "AddN"), 0);
  EXPECT_EQ(CountOps(s, "NoOp"), 2);
  Node* gate = s.graph()->Find("gradients/product_grad/tuple/control_dependency");
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(gate->attrs().Find("_class")->get<AttrValue::Strings>()->at(0), "loc:@product");
  auto values = Evaluate(s, {{x, Doubles({2}, 2)}, {z, Doubles({2}, 3)}}, {grads[0].dense, grads[1].dense});
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_DOUBLE_EQ((*values)[0].flat<double>()[0], 12.0);
  EXPECT_DOUBLE_EQ((*values)[1].flat<double>()[0], 4.0);
}

TEST(GradientTest, UnusedOutputsGetZeros) {
  Scope s = Scope::Root();
  Output x = Input(s, {4});
  Node* split = s.Add("Split", {s.Const<int32_t>(0), x}, {{"num_split", 2}});
  ASSERT_TRUE(s.ok()) << s.status();
  CheckGradients(s, s.Op("Square", {Output(split, 1)}), {{x, Doubles({4})}});
}

}  // namespace
}  // namespace millstream
