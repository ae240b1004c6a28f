// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/learning_rate_decay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/testing/goldens.h"
#include "millstream/train/testing/steps.h"

namespace millstream {
namespace {

Output StepPlaceholder(const Scope& s) {
  return s.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape(Shape())}});
}

TEST(LearningRateDecayTest, IsTensorFlows) {
  Scope s = Scope::Root();
  const Output g = StepPlaceholder(s);
  const std::vector<Output> rates = {ExponentialDecay(s, 0.1, g, 10, 0.9),
                                     ExponentialDecay(s, 0.1, g, 10, 0.9, true),
                                     PiecewiseConstant(s, g, {5, 20}, {1.0, 0.5, 0.1}),
                                     PolynomialDecay(s, 0.1, g, 15, {.end_learning_rate = 0.01, .power = 2}),
                                     PolynomialDecay(s, 0.1, g, 15, {.end_learning_rate = 0.01, .cycle = true}),
                                     NaturalExpDecay(s, 0.1, g, 10, 0.5),
                                     InverseTimeDecay(s, 0.1, g, 10, 0.5),
                                     CosineDecay(s, 0.1, g, 20),
                                     CosineDecayRestarts(s, 0.1, g, 10),
                                     LinearCosineDecay(s, 0.1, g, 20)};
  const std::unique_ptr<Session> session = SessionOf(s);
  std::vector<double> values;
  for (const int32_t step : {0, 3, 5, 7, 16, 25}) {
    for (const Tensor& rate : RunStep(*session, rates, {}, {{g.name(), Tensor::Scalar(step)}}))
      values.push_back(rate.scalar<float>());
  }
  const auto expected = OptimizerGoldens()["decay"].get<std::vector<double>>();
  EXPECT_THAT(values, ::testing::Pointwise(::testing::DoubleNear(1e-6), expected));
  EXPECT_EQ(rates[0].node->name(), "ExponentialDecay");
}

TEST(LearningRateDecayTest, Warmup) {
  Scope s = Scope::Root();
  const Output g = StepPlaceholder(s), rate = LinearWarmup(s, 0.1, g, 10, 4);
  const std::unique_ptr<Session> session = SessionOf(s);
  for (const auto& [step, expected] :
       {std::pair(0, 0.1f), std::pair(5, 0.25f), std::pair(10, 0.4f), std::pair(20, 0.4f)}) {
    EXPECT_NEAR(ValueOf(*session, rate, {{g.name(), Tensor::Scalar<int32_t>(step)}}).scalar<float>(), expected, 1e-6);
  }
}

// Numbers may be tensors, of another type too.
TEST(LearningRateDecayTest, TakesTensors) {
  Scope s = Scope::Root();
  const Output rate = ExponentialDecay(s, s.Const(0.5), s.Const<int64_t>(4), s.Const<int32_t>(2), 0.5);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(rate.dtype(), DType::kDouble);
  EXPECT_NEAR(ValueOf(*SessionOf(s), rate).scalar<double>(), 0.125, 1e-12);
}

TEST(LearningRateDecayTest, RefusesWhatDoesNotFit) {
  Scope s = Scope::Root();
  PiecewiseConstant(s, s.Const<int32_t>(1), {5}, {1.0});
  EXPECT_THAT(std::string(s.status().message()), ::testing::HasSubstr("boundaries"));
  Scope t = Scope::Root();
  CosineDecay(t, 0.1, Output(), 10);
  EXPECT_THAT(std::string(t.status().message()), ::testing::HasSubstr("global step"));
}

}  // namespace
}  // namespace millstream
