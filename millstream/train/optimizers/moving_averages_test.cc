// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/moving_averages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/testing/goldens.h"
#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

TEST(MovingAveragesTest, AreTensorFlows) {
  for (const bool resource : {false, true}) {
    Scope s = Scope::Root();
    const GraphVariable v = VariableScope(s).Get(
        "v", Shape({2}), {.initializer = ValueInitializer(Tensor::Vector<float>({1, 2})), .resource = resource});
    const Output t = s.WithOpName("mul").Op("Mul", {v.value, s.Const(2.0f)});
    ExponentialMovingAverage ema(0.9), of_tensor(0.8, {.zero_debias = true, .name = "E2"});
    Node* apply = ema.Apply(s, {v});
    Node* apply2 = of_tensor.Apply(s, {}, {t});
    const Output increment = AddToVariable(s, v, s.Const(Tensor::Vector<float>({1, 1})));
    Node* init = GlobalVariablesInitializer(s);
    ASSERT_TRUE(s.ok()) << s.status();
    const auto session = SessionOf(s, init);
    std::vector<float> values;
    for (int i = 0; i < 3; ++i) {
      RunStep(*session, {}, {increment.node});
      RunStep(*session, {}, {apply, apply2});
      for (const Output& average : {ema.Average(v.handle).value, of_tensor.Average(t).value}) {
        for (const float x : FloatsOf(*session, average)) values.push_back(x);
      }
    }
    const auto& golden = OptimizerGoldens()["ema"];
    EXPECT_THAT(values, ::testing::Pointwise(::testing::FloatNear(1e-5f), golden["values"].get<std::vector<float>>()));
    std::vector<std::string> names, restore;
    for (const Output& variable : s.Collection("variables")) names.push_back(variable.node->name());
    for (const auto& [name, handle] : ema.VariablesToRestore(s)) restore.push_back(name);
    EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(golden["variables"].get<std::vector<std::string>>()));
    EXPECT_EQ(restore, golden["restore"].get<std::vector<std::string>>());
    EXPECT_EQ(ema.VariablesToRestore(s).at("v/ExponentialMovingAverage"), v.handle);
  }
}

// With a number of updates the decay is (1 + n) / (10 + n) at most.
TEST(MovingAveragesTest, FollowFasterAtTheStart) {
  Scope s = Scope::Root();
  const GraphVariable v = VariableScope(s).Get("v", Shape(), {.initializer = ConstantInitializer(1)});
  ExponentialMovingAverage ema(0.9, {.num_updates = s.Const<int64_t>(0)});
  Node* apply = ema.Apply(s);  // of the trainable variables
  Node* change = AssignVariable(s, v, s.Const(11.0f)).node;
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  RunStep(*session, {}, {change});
  RunStep(*session, {}, {apply});
  EXPECT_NEAR(ValueOf(*session, ema.Average(v.handle).value).scalar<float>(), 0.1 * 1 + 0.9 * 11, 1e-5);
}

// A variable that was restored before its average is made gives the average its value.
TEST(MovingAveragesTest, BeginAsTheirVariables) {
  Scope s = Scope::Root();
  const GraphVariable v = VariableScope(s).Get("v", Shape(), {.initializer = ConstantInitializer(1)});
  ExponentialMovingAverage ema(0.9);
  ema.Apply(s, {v});
  Node* restore = AssignVariable(s, v, s.Const(7.0f)).node;
  const GraphVariable average = ema.Average(v.handle);
  const auto session = SessionOf(s);
  RunStep(*session, {}, {average.initializer});
  EXPECT_EQ(ValueOf(*session, average.value).scalar<float>(), 1);
  RunStep(*session, {}, {restore});
  RunStep(*session, {}, {average.initializer});
  EXPECT_EQ(ValueOf(*session, average.value).scalar<float>(), 7);
}

TEST(MovingAveragesTest, RefuseIntegers) {
  Scope s = Scope::Root();
  ExponentialMovingAverage ema(0.9);
  EXPECT_EQ(ema.Apply(s, {VariableScope(s).Get("n", Shape(), {.dtype = DType::kInt64})}), nullptr);
  EXPECT_EQ(s.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
