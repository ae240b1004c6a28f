// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/operators/operators.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(const Scope& s) {
  std::vector<std::string> names;
  for (const auto& node : s.graph()->nodes()) {
    if (node != nullptr) names.push_back(node->name());
  }
  return names;
}

TEST(OperatorsTest, ConstantsAreNamedAfterTheInput) {
  const Scope s = Scope::Root();
  const Output x = s.WithOpName("x").Const(2.0);
  const Output y = operators::Sub(s, 1, x);
  EXPECT_EQ(y.dtype(), DType::kDouble);
  operators::Mul(s, y, 0.5);
  operators::Mul(s, y, x);
  EXPECT_THAT(Names(s), ElementsAre("x", "sub/x", "sub", "mul/y", "mul", "mul_1"));
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(OperatorsTest, ConstantsInListsAreNumbered) {
  const Scope s = Scope::Root();
  const Output x = s.WithOpName("x").Constant({1, 2});
  operators::Concat(s, {x, std::vector<int32_t>{3}});
  EXPECT_THAT(Names(s), ElementsAre("x", "concat/values_1", "concat/axis", "concat"));
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(OperatorsTest, ResourcesAreReadForTheNode) {
  const Scope s = Scope::Root();
  const GraphVariable r = VariableScope(s).Get("r", Shape({2}), {.initializer = ZerosInitializer(), .resource = true});
  const GraphVariable v = VariableScope(s).Get("v", Shape({2}), {.initializer = ZerosInitializer()});
  const Output sum = operators::Add(s.NameScope("n"), r, v);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(sum.node->input(0).node->name(), "n/add/ReadVariableOp");
  EXPECT_EQ(sum.node->input(1).node->name(), "v/read");
}

TEST(OperatorsTest, WhatIsKnownIsAConstant) {
  const Scope s = Scope::Root();
  const Output known = s.WithOpName("known").Const(Tensor(DType::kFloat, Shape({2, 3})));
  const Output unknown = s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 3})}});
  EXPECT_TRUE(operators::ShapeOf(s, known).node->Is("Const"));
  EXPECT_TRUE(operators::ShapeOf(s, unknown).node->Is("Shape"));
  EXPECT_TRUE(operators::SizeOf(s, known).node->Is("Const"));
  EXPECT_TRUE(operators::RankOf(s, unknown).node->Is("Const"));
  EXPECT_TRUE(operators::ZerosLike(s, known).node->Is("Const"));
  EXPECT_TRUE(operators::ZerosLike(s, unknown).node->Is("ZerosLike"));
  EXPECT_EQ(s.ShapeOf(operators::ReduceAll(s, "Sum", unknown, true)), PartialShape({1, 1}));
  EXPECT_TRUE(s.ok()) << s.status();
}

TEST(OperatorsTest, WrongNumbersOfInputsAreErrors) {
  const Scope s = Scope::Root();
  EXPECT_FALSE(OpNamed(s, "", "Neg", {1.0, 2.0}));
  EXPECT_THAT(std::string(s.status().message()), HasSubstr("2 inputs do not fit"));
  const Scope other = Scope::Root();
  EXPECT_FALSE(OpNamed(other, "", "NoSuchOp", {1.0}));
  EXPECT_FALSE(other.ok());
}

}  // namespace
}  // namespace millstream
