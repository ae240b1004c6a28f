// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "millstream/graph/testing/gradient_check.h"
#include "millstream/train/losses/cross_entropy.h"
#include "millstream/train/testing/steps.h"

namespace millstream::losses {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

class LossesTest : public ::testing::Test {
 protected:
  float Run(Output loss) { return FloatsOf(*SessionOf(s), loss).at(0); }

  Scope s = Scope::Root();
  Output y = s.Const(Tensor::Of<float>(Shape({2, 3}), {0, 1, 0.5, 1, 0, 0.25}));
  Output p = s.Const(Tensor::Of<float>(Shape({2, 3}), {0.1f, 0.7f, 2.5f, 0.9f, 0.2f, 0.5f}));
  Output weights = s.Const(Tensor::Of<float>(Shape({2, 1}), {2, 0.5}));
  Output some_zero = s.Const(Tensor::Of<float>(Shape({2, 1}), {0, 3}));
};

// Values and names that TensorFlow 2.21 gives.
TEST_F(LossesTest, ValuesAreTensorFlows) {
  const Output probabilities = s.Const(Tensor::Of<float>(Shape({2, 3}), {0.1f, 0.7f, 0.5f, 0.9f, 0.2f, 0.5f}));
  const Output classes = s.Const(Tensor::Vector<int32_t>({2, 0}));
  const Output column = s.Const(Tensor::Of<int32_t>(Shape({2, 1}), {2, 0}));
  const Output column_weights = s.Const(Tensor::Of<float>(Shape({2, 1}), {2, 0}));
  const std::vector<std::tuple<Output, float, std::string>> cases = {
      {AbsoluteDifference(s, y, p), 0.4916667f, "absolute_difference/value"},
      {MeanSquaredError(s, y, p), 0.7020833f, "mean_squared_error/value"},
      {MeanSquaredError(s, y, p, {.weights = weights}), 1.3760418f, "mean_squared_error_1/value"},
      {CosineDistance(s, y, p, 1), -0.4875f, "cosine_distance_loss/value"},
      {HingeLoss(s, y, p), 0.825f, "hinge_loss/value"},
      {HuberLoss(s, y, p), 0.2677083f, "huber_loss/value"},
      {HuberLoss(s, y, p, {}, 0.5), 0.1635417f, "huber_loss_1/value"},
      {LogLoss(s, y, probabilities), 0.3628055f, "log_loss/value"},
      {MeanPairwiseSquaredError(s, y, p), 3.0916667f, "mean_pairwise_squared_error/value_2"},
      {MeanPairwiseSquaredError(s, y, p, {.weights = weights}), 6.0758333f, "mean_pairwise_squared_error_1/value_2"},
      {SigmoidCrossEntropy(s, y, p), 0.7441403f, "sigmoid_cross_entropy_loss/value"},
      {SigmoidCrossEntropy(s, y, p, {}, 0.1), 0.7528904f, "sigmoid_cross_entropy_loss_1/value"},
      {SoftmaxCrossEntropy(s, y, p), 1.6042717f, "softmax_cross_entropy_loss/value"},
      {SoftmaxCrossEntropy(s, y, p, {}, 0.1), 1.5822401f, "softmax_cross_entropy_loss_1/value"},
      {SoftmaxCrossEntropy(s, y, p, {.weights = s.Const(Tensor::Vector<float>({2, 0.5}))}), 2.4085746f,
       "softmax_cross_entropy_loss_2/value"},
      {SparseSoftmaxCrossEntropy(s, classes, p), 0.5006227f, "sparse_softmax_cross_entropy_loss/value"},
      {SparseSoftmaxCrossEntropy(s, column, p, {.weights = column_weights}), 0.4558910f,
       "sparse_softmax_cross_entropy_loss_1/value"},
  };
  ASSERT_TRUE(s.ok()) << s.status();
  const auto session = SessionOf(s);
  for (const auto& [loss, value, name] : cases) {
    EXPECT_EQ(loss.node->name(), name);
    EXPECT_NEAR(FloatsOf(*session, loss).at(0), value, 1e-5) << name;
  }
}

TEST_F(LossesTest, ReductionsAreTensorFlows) {
  const auto reduced = [&](Reduction reduction) {
    return MeanSquaredError(s, y, p, {.weights = some_zero, .reduction = reduction, .collection = ""});
  };
  const Output none = reduced(Reduction::kNone);
  EXPECT_NEAR(Run(reduced(Reduction::kSum)), 0.3375f, 1e-6);
  EXPECT_NEAR(Run(reduced(Reduction::kMean)), 0.0375f, 1e-6);
  EXPECT_NEAR(Run(reduced(Reduction::kSumOverBatchSize)), 0.05625f, 1e-6);
  EXPECT_NEAR(Run(reduced(Reduction::kSumByNonzeroWeights)), 0.1125f, 1e-6);
  EXPECT_THAT(FloatsOf(*SessionOf(s), none),
              ElementsAre(0, 0, 0, FloatNear(0.03f, 1e-6f), FloatNear(0.12f, 1e-6f), FloatNear(0.1875f, 1e-6f)));
  EXPECT_NEAR(Run(MeanSquaredError(s, y, p, {.weights = s.Const(0.5f)})), 0.3510417f, 1e-6);
  EXPECT_EQ(Run(MeanSquaredError(s, y, p, {.weights = s.Const(0.0f)})), 0);
}

TEST_F(LossesTest, CollectionAndTotal) {
  const Output a = MeanSquaredError(s, y, p, {.name = "first"});
  const Output b = AbsoluteDifference(s, y, p);
  HingeLoss(s, y, p, {.collection = ""});
  EXPECT_THAT(GetLosses(s), ElementsAre(a, b));
  EXPECT_THAT(GetLosses(s, "first"), ElementsAre(a));
  s.AddToCollection("regularization_losses", s.Const(2.0f));
  const Output regularization = GetRegularizationLoss(s);
  const Output total = GetTotalLoss(s), without = GetTotalLoss(s, false);
  EXPECT_EQ(total.node->name(), "total_loss");
  EXPECT_EQ(Run(regularization), 2);
  EXPECT_NEAR(Run(total), 0.7020833f + 0.4916667f + 2, 1e-5);
  EXPECT_NEAR(Run(without), 0.7020833f + 0.4916667f, 1e-5);
}

TEST_F(LossesTest, RefusesWhatDoesNotFit) {
  const auto message = [](const std::function<void(const Scope&, Output)>& build) {
    const Scope scope = Scope::Root();
    build(scope, scope.Const(Tensor::Of<float>(Shape({2, 2}), {1, 2, 3, 4})));
    EXPECT_EQ(scope.status().code(), absl::StatusCode::kInvalidArgument) << scope.status();
    return std::string(scope.status().message());
  };
  EXPECT_THAT(message([](const Scope& at, Output x) { MeanSquaredError(at, {}, x); }), HasSubstr("`labels`"));
  EXPECT_THAT(message([](const Scope& at, Output x) { HingeLoss(at, x, {}); }), HasSubstr("`logits`"));
  EXPECT_THAT(message([](const Scope& at, Output x) {
                MeanSquaredError(at, at.Const(Tensor::Vector<float>({1, 2, 3})), x);
              }),
              HasSubstr("are incompatible"));
  EXPECT_THAT(message([](const Scope& at, Output x) {
                MeanSquaredError(at, x, x, {.weights = at.Const(Tensor::Vector<float>({1, 2}))});
              }),
              HasSubstr("weights can not be broadcast"));
  EXPECT_THAT(message([](const Scope& at, Output x) {
                MeanSquaredError(at, x, x, {.weights = at.Const(Tensor::Of<float>(Shape({3, 1}), {1, 2, 3}))});
              }),
              HasSubstr("Mismatch at dim 0"));
  EXPECT_THAT(message([](const Scope& at, Output x) { SparseSoftmaxCrossEntropyWithLogits(at, x, x); }),
              HasSubstr("labels.shape.rank"));
  EXPECT_THAT(message([](const Scope& at, Output) { GetTotalLoss(at); }), HasSubstr("no losses"));
}

// What is not known while the graph is built is checked by the step.
TEST_F(LossesTest, ChecksWeightsOfUnknownShapeInTheStep) {
  const Output unknown = s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  const Output loss = MeanSquaredError(s, y, p, {.weights = unknown});
  const StatusOr<std::vector<Tensor>> fits =
      Evaluate(s, {{unknown, Tensor::Of<float>(Shape({2, 1}), {2, 0.5})}}, {loss});
  ASSERT_TRUE(fits.ok()) << fits.status();
  EXPECT_NEAR((*fits)[0].scalar<float>(), 1.3760418f, 1e-5);
  const StatusOr<std::vector<Tensor>> misfit = Evaluate(s, {{unknown, Tensor::Vector<float>({1, 2, 3})}}, {loss});
  EXPECT_EQ(misfit.status().code(), absl::StatusCode::kInvalidArgument) << misfit.status();
  EXPECT_THAT(std::string(misfit.status().message()), HasSubstr("weights can not be broadcast"));
}

TEST_F(LossesTest, Gradients) {
  const auto fed = [&](const Shape& shape) {
    return s.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", PartialShape(shape)}});
  };
  const Output logits = fed(Shape({1, 2, 2}));
  const Output labels = s.Const(Tensor::Of<double>(Shape({1, 2, 2}), {0, 1, 0.25, 0.75}));
  const Output classes = s.Const(Tensor::Of<int64_t>(Shape({1, 2}), {1, 0}));
  const Tensor at = Tensor::Of<double>(Shape({1, 2, 2}), {0, 1.5, -2, 0.5});
  CheckGradients(s, SigmoidCrossEntropyWithLogits(s, labels, logits), {{logits, at}});
  CheckGradients(s, SoftmaxCrossEntropyWithLogits(s, labels, logits), {{logits, at}});
  CheckGradients(s, SparseSoftmaxCrossEntropyWithLogits(s, classes, logits), {{logits, at}});
}

}  // namespace
}  // namespace millstream::losses
