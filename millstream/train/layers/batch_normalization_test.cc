// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/layers/batch_normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "millstream/graph/testing/gradient_check.h"
#include "millstream/train/losses/regularizers.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream::layers {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

const Tensor kRows = Tensor::Of<float>(Shape({3, 2}), {1, 2, 3, 5, 8, 11});
// Means of its columns, and their variances.
constexpr float kMean[] = {4, 6}, kVariance[] = {26.0f / 3, 14};

std::vector<float> Normalized(const std::vector<float>& x, const float* mean, const float* variance) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back((x[i] - mean[i % 2]) / std::sqrt(variance[i % 2] + 1e-3f));
  return y;
}

TEST(BatchNormalizationTest, TrainsByTheBatchAndInfersByAverages) {
  const Scope s = Scope::Root();
  const VariableScope v(s);
  const Output x = s.Const(kRows);
  const Output training = s.Op("Placeholder", {}, {{"dtype", DType::kBool}, {"shape", PartialShape(Shape())}});
  const Output y = BatchNormalization(v, x, training, {.momentum = 0.9});
  EXPECT_EQ(s.ShapeOf(y), PartialShape({3, 2}));
  const std::vector<Node*> updates = UpdateOps(s);
  ASSERT_EQ(updates.size(), 2u);
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  const std::vector<float> rows = {1, 2, 3, 5, 8, 11};
  const auto run = [&](bool train, const std::vector<const Node*>& targets) {
    const Tensor out = RunStep(*session, {y}, targets, {{training.name(), Tensor::Scalar(train)}})[0];
    return std::vector<float>(out.flat<float>().begin(), out.flat<float>().end());
  };
  EXPECT_THAT(run(true, {}), Pointwise(FloatNear(1e-5f), Normalized(rows, kMean, kVariance)));
  const Output mean = FindVariable(s, s.graph()->Find("batch_normalization/moving_mean")).value;
  const Output variance = FindVariable(s, s.graph()->Find("batch_normalization/moving_variance")).value;
  EXPECT_THAT(FloatsOf(*session, mean), ElementsAre(0, 0));
  run(true, {updates[0], updates[1]});
  EXPECT_THAT(FloatsOf(*session, mean), ElementsAre(FloatNear(0.4f, 1e-6f), FloatNear(0.6f, 1e-6f)));
  const std::vector<float> means = FloatsOf(*session, mean), variances = FloatsOf(*session, variance);
  EXPECT_THAT(variances, ElementsAre(FloatNear(0.9f + 2.6f / 3, 1e-6f), FloatNear(2.3f, 1e-6f)));
  // Updates that run without training change nothing.
  EXPECT_THAT(run(false, {updates[0], updates[1]}),
              Pointwise(FloatNear(1e-5f), Normalized(rows, means.data(), variances.data())));
  EXPECT_EQ(FloatsOf(*session, mean), means);
  EXPECT_EQ(FloatsOf(*session, variance), variances);
}

TEST(BatchNormalizationTest, VariablesAreTensorFlows) {
  const Scope s = Scope::Root();
  const VariableScope v = VariableScope(s).WithRegularizer(L2Regularizer(0.1));
  BatchNormalization(v, s.Const(kRows), true);
  BatchNormalization(v, s.Const(kRows), false, {.center = false});
  BatchNormalization(v, s.Const(kRows), true, {.name = "bn", .scale = false, .trainable = false});
  ASSERT_TRUE(s.ok()) << s.status();
  std::vector<std::string> all, trainable, regularized;
  for (const Output& o : s.Collection("variables")) all.push_back(o.node->name());
  for (const Output& o : s.Collection("trainable_variables")) trainable.push_back(o.node->name());
  EXPECT_THAT(all,
              ElementsAre("batch_normalization/gamma", "batch_normalization/beta", "batch_normalization/moving_mean",
                          "batch_normalization/moving_variance", "batch_normalization_1/gamma",
                          "batch_normalization_1/moving_mean", "batch_normalization_1/moving_variance", "bn/beta",
                          "bn/moving_mean", "bn/moving_variance"));
  EXPECT_THAT(trainable,
              ElementsAre("batch_normalization/gamma", "batch_normalization/beta", "batch_normalization_1/gamma"));
  EXPECT_EQ(s.Collection("regularization_losses").size(), 4u);  // no averages
  EXPECT_EQ(UpdateOps(s).size(), 2u);                           // of the first only
}

// One kernel and several give the same, but for the average of variances: the kernel's is that of a sample.
TEST(BatchNormalizationTest, FusedIsTheSame) {
  const Scope s = Scope::Root();
  const VariableScope v(s);
  Tensor images(DType::kFloat, Shape({2, 2, 2, 3}));
  for (int64_t i = 0; i < images.shape().num_elements(); ++i) {
    images.flat<float>()[static_cast<size_t>(i)] = static_cast<float>((i * 7) % 11);
  }
  const Output x = s.Const(images);
  const Output a = BatchNormalization(v, x, true), b = BatchNormalization(v, x, true, {.fused = false});
  const Output channels_first = s.Op("Transpose", {x, s.Constant({0, 3, 1, 2})});
  const Output c = BatchNormalization(v, channels_first, true, {.axis = 1, .fused = false});
  const Output back = s.Op("Transpose", {c, s.Constant({0, 2, 3, 1})});
  EXPECT_EQ(a.node->type(), "FusedBatchNormV3");
  Node* init = GlobalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  const std::vector<float> fused = FloatsOf(*session, a);
  EXPECT_THAT(FloatsOf(*session, b), Pointwise(FloatNear(1e-5f), fused));
  EXPECT_THAT(FloatsOf(*session, back), Pointwise(FloatNear(1e-5f), fused));
}

TEST(BatchNormalizationTest, Gradients) {
  const Scope s = Scope::Root();
  const Output x = s.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", PartialShape({3, 2})}});
  const Output y = BatchNormalization(VariableScope(s), x, true, {.center = false, .scale = false});
  CheckGradients(s, s.Op("Mul", {y, s.Op("Mul", {y, y})}),
                 {{x, Tensor::Of<double>(Shape({3, 2}), {1, 2, 3, 5, 8, 11})}}, 1e-5);
}

TEST(BatchNormalizationTest, RefusesWhatDoesNotFit) {
  const auto fails = [](const PartialShape& shape, const BatchNormalizationOptions& options) {
    const Scope s = Scope::Root();
    const Output x = s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", shape}});
    EXPECT_FALSE(BatchNormalization(VariableScope(s), x, true, options));
    return s.status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(fails(PartialShape(), {}));
  EXPECT_TRUE(fails(PartialShape({2, -1}), {}));
  EXPECT_TRUE(fails(PartialShape({2, 2}), {.axis = 2}));
  EXPECT_TRUE(fails(PartialShape({2, 2}), {.fused = true}));
}

}  // namespace
}  // namespace millstream::layers
