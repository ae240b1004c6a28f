// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/graph/testing/gradient_check.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream::layers {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> VariableNames(const Scope& s) {
  std::vector<std::string> names;
  for (const Output& v : s.Collection("variables")) names.push_back(v.node->name());
  return names;
}

TEST(LayersTest, NamesAndShapesAreTensorFlows) {
  Scope s = Scope::Root();
  const VariableScope v(s);
  const Output images = s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 28, 28, 1})}});
  Output x = Conv2D(v, images, 8, 5, {{.activation = Relu}, 1, "SAME"});
  EXPECT_EQ(s.ShapeOf(x), PartialShape({-1, 28, 28, 8}));
  x = MaxPool(s, x, 2, 2);
  EXPECT_EQ(s.ShapeOf(x), PartialShape({-1, 14, 14, 8}));
  x = Flatten(s, x);
  EXPECT_EQ(s.ShapeOf(x), PartialShape({-1, 14 * 14 * 8}));
  x = Dense(v, x, 100, {.activation = Sigmoid});
  x = Dense(v, x, 50, {.activation = Tanh, .use_bias = false});
  x = Dense(v.Enter("top"), x, 10, {.name = "logits"});
  EXPECT_EQ(s.ShapeOf(x), PartialShape({-1, 10}));
  EXPECT_TRUE(s.ok()) << s.status();
  EXPECT_THAT(VariableNames(s), ElementsAre("conv2d/kernel", "conv2d/bias", "dense/kernel", "dense/bias",
                                            "dense_1/kernel", "top/logits/kernel", "top/logits/bias"));
  EXPECT_EQ(x.node->name(), "top/logits/BiasAdd");
}

TEST(LayersTest, DenseComputes) {
  Scope s = Scope::Root();
  const Output x = s.Const(Tensor::Of<float>(Shape({1, 2}), {1, -2}));
  const Output y = Dense(VariableScope(s), x, 2,
                         {.activation = Relu,
                          .kernel_initializer = ValueInitializer(Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4})),
                          .bias_initializer = ConstantInitializer(5.5)});
  Node* init = GlobalVariablesInitializer(s);
  EXPECT_THAT(FloatsOf(*SessionOf(s, init), y), ElementsAre(0.5f, 0.0f));
}

TEST(LayersTest, LossAndAccuracy) {
  Scope s = Scope::Root();
  const Output logits = s.Const(Tensor::Of<float>(Shape({2, 3}), {1, 2, 3, 0, 0, 0}));
  const Output one_hot = s.Const(Tensor::Of<float>(Shape({2, 3}), {0, 0, 1, 0, 1, 0}));
  const Output classes = s.Const(Tensor::Vector<int64_t>({2, 1}));
  StatusOr<std::vector<Tensor>> out =
      Evaluate(s, {},
               {SoftmaxCrossEntropy(s, logits, one_hot), SoftmaxCrossEntropy(s, logits, classes),
                Accuracy(s, logits, one_hot), Accuracy(s, logits, classes)});
  ASSERT_TRUE(out.ok()) << out.status();
  const double expected = (std::log(std::exp(-2.0) + std::exp(-1.0) + 1) + std::log(3.0)) / 2;
  EXPECT_NEAR((*out)[0].scalar<float>(), expected, 1e-6);
  EXPECT_NEAR((*out)[1].scalar<float>(), expected, 1e-6);
  EXPECT_EQ((*out)[2].scalar<float>(), 0.5f);
  EXPECT_EQ((*out)[3].scalar<float>(), 0.5f);
}

TEST(LayersTest, DropoutOnlyWhileTraining) {
  Scope s = Scope::Root();
  const Output x = s.Op("Fill", {s.Constant({1000}), s.Const(1.0f)});
  const Output training = s.Op("Placeholder", {}, {{"dtype", DType::kBool}, {"shape", PartialShape(Shape())}});
  const Output y = Dropout(s, x, 0.25, training, 7);
  for (const bool train : {false, true}) {
    StatusOr<std::vector<Tensor>> out = Evaluate(s, {{training, Tensor::Scalar(train)}}, {y});
    ASSERT_TRUE(out.ok()) << out.status();
    int zeros = 0;
    for (const float value : (*out)[0].flat<float>()) {
      EXPECT_TRUE(value == 0 || std::abs(value - (train ? 4.0f / 3 : 1.0f)) < 1e-6);
      zeros += value == 0;
    }
    EXPECT_TRUE(train ? zeros > 200 && zeros < 300 : zeros == 0) << zeros;
  }
  EXPECT_EQ(Dropout(s, x, 0), x);
}

TEST(LayersTest, RefusesInputsOfUnknownSize) {
  const auto fails = [](const std::function<void(const VariableScope&, Output)>& layer, const PartialShape& shape) {
    Scope s = Scope::Root();
    layer(VariableScope(s), s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}}));
    return s.status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(fails([](const auto& v, Output x) { Dense(v, x, 3); }, PartialShape({2, -1})));
  EXPECT_TRUE(fails([](const auto& v, Output x) { Dense(v, x, 3); }, PartialShape()));
  EXPECT_TRUE(fails([](const auto& v, Output x) { Dense(v, x, 0); }, PartialShape({2, 2})));
  EXPECT_TRUE(fails([](const auto& v, Output x) { Conv2D(v, x, 3, 3); }, PartialShape({2, 2})));
  EXPECT_TRUE(fails([](const auto& v, Output x) { Flatten(v.scope(), x); }, PartialShape({-1, -1})));
  EXPECT_TRUE(fails([](const auto& v, Output x) { Dropout(v.scope(), x, 1.0); }, PartialShape({2})));
}

}  // namespace
}  // namespace millstream::layers
