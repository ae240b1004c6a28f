// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millstream/train/testing/steps.h"
#include "millstream/train/variables/variables.h"

namespace millstream::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

class MetricsTest : public ::testing::Test {
 protected:
  struct Case {
    Metric metric;
    std::vector<float> first, second;  // what updates give
    std::string name = {};             // of the value
    std::vector<float> value = {};     // none: what the last update gave
  };

  Output Fed() { return s.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1})}}); }

  // Two batches, as TensorFlow 2.21 was given them for the expected values.
  void Check(const std::vector<Case>& cases) {
    ASSERT_TRUE(s.ok()) << s.status();
    const auto session = SessionOf(s, LocalVariablesInitializer(s));
    std::vector<Output> updates, values;
    for (const Case& c : cases) {
      updates.push_back(c.metric.update_op);
      values.push_back(c.metric.value);
    }
    const auto feeds = [this](std::vector<float> l, std::vector<float> p, std::vector<float> w) {
      return Session::Feeds{{labels.name(), Tensor::Vector(l)},
                            {predictions.name(), Tensor::Vector(p)},
                            {weights.name(), Tensor::Vector(w)}};
    };
    const auto first = RunStep(*session, updates, {}, feeds({0, 1, 1, 0}, {0.1f, 0.8f, 0.4f, 0.6f}, {1, 2, 0.5f, 1}));
    const auto second = RunStep(*session, updates, {}, feeds({1, 1, 0}, {0.9f, 0.3f, 0.2f}, {0, 1, 3}));
    const auto last = RunStep(*session, values);
    for (size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      SCOPED_TRACE(c.metric.value.name());
      Expect(first[i], c.first);
      Expect(second[i], c.second);
      Expect(last[i], c.value.empty() ? c.second : c.value);
      if (!c.name.empty()) {
        EXPECT_EQ(c.metric.value.node->name(), c.name);
      }
    }
  }

  static void Expect(const Tensor& found, const std::vector<float>& wanted) {
    std::vector<float> values;
    if (found.dtype() == DType::kDouble) {
      values.assign(found.flat<double>().begin(), found.flat<double>().end());
    } else {
      values.assign(found.flat<float>().begin(), found.flat<float>().end());
    }
    EXPECT_THAT(values, Pointwise(FloatNear(2e-6f), wanted));
  }

  Scope s = Scope::Root();
  Output labels = Fed(), predictions = Fed(), weights = Fed();
  Output rounded = s.Op("Round", {predictions});
};

TEST_F(MetricsTest, MeansAreTensorFlows) {
  Check({
      {Mean(s, predictions), {0.4750000f}, {0.4714286f}, "mean/value"},
      {Mean(s, predictions, {.weights = weights}), {0.5555556f}, {0.4f}, "mean_1/value"},
      {Accuracy(s, labels, rounded), {0.5f}, {0.5714286f}, "accuracy/value"},
      {Accuracy(s, labels, rounded, {.weights = weights}), {0.6666667f}, {0.7058824f}, "accuracy_1/value"},
      {MeanAbsoluteError(s, labels, predictions), {0.375f}, {0.3571429f}, "mean_absolute_error/value"},
      {MeanSquaredError(s, labels, predictions, {.weights = weights}), {0.14f}, {0.1458824f}},
      {RootMeanSquaredError(s, labels, predictions), {0.4387482f}, {0.4326001f}, "Sqrt"},
      {MeanRelativeError(s, labels, predictions, labels), {0.2f}, {0.2285714f}},
      {PercentageBelow(s, predictions, 0.5), {0.5f}, {0.5714286f}, "percentage_below_threshold/value"},
  });
}

TEST_F(MetricsTest, CountsAreTensorFlows) {
  Check({
      {TruePositives(s, labels, rounded), {1}, {2}},
      {FalsePositives(s, labels, rounded, {.weights = weights}), {1}, {1}},
      {TrueNegatives(s, labels, rounded), {1}, {2}},
      {FalseNegatives(s, labels, rounded), {1}, {2}},
      {Precision(s, labels, rounded), {0.5f}, {0.6666667f}, "precision/value"},
      {Recall(s, labels, rounded, {.weights = weights}), {0.8f}, {0.5714286f}, "recall/value"},
      {MeanIou(s, labels, rounded, 2), {1, 1, 1, 1}, {2, 1, 2, 2}, "", {0.4f}},
      {MeanIou(s, labels, rounded, 3, {.weights = weights}),
       {1, 1, 0, 0.5, 2, 0, 0, 0, 0},
       {4, 1, 0, 1.5, 2, 0, 0, 0, 0},
       "",
       {0.5299146f}},
  });
}

TEST_F(MetricsTest, ThresholdsAreTensorFlows) {
  Check({
      {Auc(s, labels, predictions), {0.7499998f}, {0.8333331f}, "auc/value"},
      {Auc(s, labels, predictions, {.weights = weights}), {0.8999996f}, {0.9142856f}, "auc_1/value"},
      {Auc(s, labels, predictions, {}, {.curve = Curve::kPr}), {0.7916663f}, {0.8708332f}},
      {Auc(s, labels, predictions, {},
           {.num_thresholds = 20, .curve = Curve::kPr, .summation_method = Summation::kCarefulInterpolation}),
       {0.7972674f},
       {0.8722936f},
       "auc_3/interpolate_pr_auc"},
      {Auc(s, labels, predictions, {}, {.num_thresholds = 5, .summation_method = Summation::kMinoring}),
       {0.7499998f},
       {0.8333331f}},
      {Auc(s, labels, predictions, {}, {.num_thresholds = 5, .summation_method = Summation::kMajoring}),
       {0.7499998f},
       {0.8333331f}},
      {Auc(s, labels, predictions, {}, {.thresholds = {0.6, 0.3}}), {0.8749996f}, {0.7916665f}},
      {PrecisionAtThresholds(s, labels, predictions, {0.2, 0.5}),
       {0.6666667f, 0.5f},
       {0.8f, 0.6666667f},
       "precision_at_thresholds/precision_value"},
      {RecallAtThresholds(s, labels, predictions, {0.2, 0.5}, {.weights = weights}), {1, 0.8f}, {1, 0.5714286f}},
  });
}

TEST_F(MetricsTest, VariablesAreLocal) {
  const Metric metric =
      Mean(s.NameScope("eval"), predictions, {.metrics_collections = {"values"}, .updates_collections = {"updates"}});
  EXPECT_THAT(s.Collection("values"), ElementsAre(metric.value));
  EXPECT_THAT(s.Collection("updates"), ElementsAre(metric.update_op));
  EXPECT_TRUE(s.Collection(graph_keys::kGlobalVariables).empty());
  EXPECT_TRUE(s.Collection(graph_keys::kTrainableVariables).empty());
  ASSERT_EQ(s.Collection(graph_keys::kLocalVariables).size(), 2u);
  EXPECT_EQ(s.Collection(graph_keys::kLocalVariables)[0].node->name(), "eval/mean/total");
  EXPECT_EQ(s.Collection(graph_keys::kMetricVariables)[1].node->name(), "eval/mean/count");
}

TEST_F(MetricsTest, MeanTensorAndCosine) {
  const Output x = s.Const(Tensor::Of<float>(Shape({1, 2}), {0.6f, 0.8f}));
  const Output y = s.Const(Tensor::Of<float>(Shape({1, 2}), {1, 0}));
  const Metric mean = MeanTensor(s, x), cosine = MeanCosineDistance(s, y, x, 1);
  Node* init = LocalVariablesInitializer(s);
  const auto session = SessionOf(s, init);
  EXPECT_THAT(FloatsOf(*session, mean.value), ElementsAre(0, 0));  // nothing was counted
  EXPECT_THAT(FloatsOf(*session, mean.update_op), ElementsAre(0.6f, 0.8f));
  EXPECT_THAT(FloatsOf(*session, cosine.update_op), ElementsAre(FloatNear(0.4f, 1e-6f)));
}

TEST_F(MetricsTest, RefusesWhatDoesNotFit) {
  const auto fails = [](const std::function<Metric(const Scope&, Output)>& build) {
    const Scope scope = Scope::Root();
    const Metric metric = build(scope, scope.Const(Tensor::Vector<float>({1, 2, 3})));
    EXPECT_FALSE(metric.value || metric.update_op);
    return scope.status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(fails([](const Scope& at, Output) { return Mean(at, {}); }));
  EXPECT_TRUE(fails([](const Scope& at, Output x) { return Accuracy(at, {}, x); }));
  EXPECT_TRUE(fails([](const Scope& at, Output x) {
    return MeanSquaredError(at, at.Const(Tensor::Vector<float>({1, 2})), x);
  }));
  EXPECT_TRUE(fails([](const Scope& at, Output x) {
    return Precision(at, x, x, {.weights = at.Const(Tensor::Vector<float>({1, 2}))});
  }));
  EXPECT_TRUE(fails([](const Scope& at, Output x) { return Auc(at, x, x, {}, {.num_thresholds = 1}); }));
  EXPECT_TRUE(fails([](const Scope& at, Output x) { return MeanIou(at, x, x, 0); }));
}

// A class that is too large fails the step, and counts nowhere.
TEST_F(MetricsTest, MeanIouChecksClasses) {
  const Metric iou = MeanIou(s, labels, predictions, 2);
  const auto session = SessionOf(s, LocalVariablesInitializer(s));
  std::vector<Tensor> out;
  const Status status =
      session->Run({{labels.name(), Tensor::Vector<float>({0})}, {predictions.name(), Tensor::Vector<float>({2})}},
                   {iou.update_op.name()}, {}, &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

}  // namespace
}  // namespace millstream::metrics
