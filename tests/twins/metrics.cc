// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metrics.h"

#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using metrics::Metric;
using metrics::Options;
using TwoInputs = Metric (*)(const Scope&, Output, Output, const Options&);

struct Inputs {
  Output labels, predictions;
};

Inputs Pair(const Scope& s, const PartialShape& shape, DType labels, DType predictions) {
  const Output y = Placeholder(s, "labels", shape, labels);
  return {y, Placeholder(s, "predictions", shape, predictions)};
}
Inputs Floats(const Scope& s) { return Pair(s, PartialShape({-1, 3}), DType::kFloat, DType::kFloat); }
Inputs Classes(const Scope& s) { return Pair(s, PartialShape({-1}), DType::kInt64, DType::kInt64); }
Inputs Bools(const Scope& s) { return Pair(s, PartialShape({-1}), DType::kBool, DType::kBool); }
Inputs Scores(const Scope& s) { return Pair(s, PartialShape({-1}), DType::kBool, DType::kFloat); }

Program With(const std::string& name, Inputs (*inputs)(const Scope&), TwoInputs metric) {
  return {name, [inputs, metric](const Scope& s) {
            const Inputs in = inputs(s);
            metric(s, in.labels, in.predictions, {});
          }};
}

Program WithWeights(const std::string& name, Inputs (*inputs)(const Scope&), TwoInputs metric, const Options& options) {
  return {name, [inputs, metric, options](const Scope& s) {
            const Inputs in = inputs(s);
            Options own = options;
            own.weights = Placeholder(s, "weights", PartialShape({-1}));
            metric(s, in.labels, in.predictions, own);
          }};
}

void WeightedMean(const Scope& s) {
  const Output values = Placeholder(s, "values", PartialShape({-1, 3}));
  metrics::Mean(s, values, {.weights = Placeholder(s, "weights", PartialShape({-1, 1}))});
}

void RelativeError(const Scope& s) {
  const Inputs in = Floats(s);
  metrics::MeanRelativeError(s, in.labels, in.predictions, Placeholder(s, "normalizer", PartialShape({-1, 3})));
}

void Iou(const Scope& s, Inputs (*inputs)(const Scope&), int64_t num_classes, const Options& options) {
  const Inputs in = inputs(s);
  metrics::MeanIou(s, in.labels, in.predictions, num_classes, options);
}

void Auc(const Scope& s, const metrics::AucOptions& how) {
  const Inputs in = Scores(s);
  metrics::Auc(s, in.labels, in.predictions, {}, how);
}

}  // namespace

Programs MetricPrograms() {
  return {
      {"mean",
       [](const Scope& s) {
         metrics::Mean(s, Placeholder(s, "values", PartialShape({-1, 3})));
       }},
      {"mean.weighted", WeightedMean},
      {"mean_tensor",
       [](const Scope& s) {
         metrics::MeanTensor(s, Placeholder(s, "values", PartialShape({4, 3})));
       }},
      With("accuracy", Classes, metrics::Accuracy),
      WithWeights("accuracy.weighted", Classes, metrics::Accuracy,
                  {.metrics_collections = {"values"}, .updates_collections = {"updates"}, .name = "right"}),
      With("mean_absolute_error", Floats, metrics::MeanAbsoluteError),
      With("mean_squared_error", Floats, metrics::MeanSquaredError),
      With("root_mean_squared_error", Floats, metrics::RootMeanSquaredError),
      {"mean_relative_error", RelativeError},
      {"mean_cosine_distance",
       [](const Scope& s) {
         const Inputs in = Floats(s);
         metrics::MeanCosineDistance(s, in.labels, in.predictions, 1);
       }},
      {"percentage_below",
       [](const Scope& s) { metrics::PercentageBelow(s, Placeholder(s, "values", PartialShape({-1})), 0.5); }},
      With("true_positives", Bools, metrics::TruePositives),
      With("false_positives", Bools, metrics::FalsePositives),
      With("true_negatives", Bools, metrics::TrueNegatives),
      With("false_negatives", Bools, metrics::FalseNegatives),
      With("precision", Bools, metrics::Precision),
      WithWeights("precision.weighted", Bools, metrics::Precision, {}),
      With("recall", Bools, metrics::Recall),
      {"mean_iou", [](const Scope& s) { Iou(s, Classes, 3, {}); }},
      {"mean_iou.floats", [](const Scope& s) { Iou(s, Floats, 4, {}); }},
      {"mean_iou.weighted",
       [](const Scope& s) {
         const Inputs in = Classes(s);
         metrics::MeanIou(s, in.labels, in.predictions, 3,
                          {.weights = Placeholder(s, "weights", PartialShape({-1})),
                           .metrics_collections = {"values"},
                           .updates_collections = {"updates"},
                           .name = "overlap"});
       }},
      {"auc", [](const Scope& s) { Auc(s, {.num_thresholds = 5}); }},
      {"auc.pr",
       [](const Scope& s) {
         Auc(s, {.num_thresholds = 5,
                 .curve = metrics::Curve::kPr,
                 .summation_method = metrics::Summation::kCarefulInterpolation});
       }},
      {"precision_at_thresholds",
       [](const Scope& s) {
         const Inputs in = Scores(s);
         metrics::PrecisionAtThresholds(s, in.labels, in.predictions, {0.25, 0.5});
       }},
      {"recall_at_thresholds",
       [](const Scope& s) {
         const Inputs in = Scores(s);
         metrics::RecallAtThresholds(s, in.labels, in.predictions, {0.25, 0.5});
       }},
  };
}

}  // namespace millstream::twins
