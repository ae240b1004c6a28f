// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_METRICS_METRICS_H_
#define MILLSTREAM_TRAIN_METRICS_METRICS_H_

#include <string>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream::metrics {

// Metrics over many steps, as tf.metrics has them: local variables that begin with zeros (run
// LocalVariablesInitializer() first, and again to begin anew) and lie on the scope's device. Errors go to the scope's
// status; a metric is empty after one.
struct Metric {
  Output value;      // of all steps so far
  Output update_op;  // counts this step; gives the value after it
};

struct Options {
  Output weights = {};  // none: 1. A scalar, or of the rank of the values with sizes that are 1 or theirs
  std::vector<std::string> metrics_collections = {};  // that get the value
  std::vector<std::string> updates_collections = {};  // that get the update
  std::string name = {};                              // of the name scope; none: the metric's own
};

Metric Mean(const Scope& scope, Output values, const Options& options = {});
// Of each element over the steps: the shape must be known.
Metric MeanTensor(const Scope& scope, Output values, const Options& options = {});
// How often predictions equal labels.
Metric Accuracy(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric MeanAbsoluteError(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric MeanSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric RootMeanSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options = {});
// Errors over `normalizer`; 0 where that is 0.
Metric MeanRelativeError(const Scope& scope, Output labels, Output predictions, Output normalizer,
                         const Options& options = {});
// Of vectors along the axis `dim` that are normalized already.
Metric MeanCosineDistance(const Scope& scope, Output labels, Output predictions, int dim, const Options& options = {});
// How many of the values are below `threshold`.
Metric PercentageBelow(const Scope& scope, Output values, double threshold, const Options& options = {});

// Labels and predictions as bools: numbers other than 0 are true.
Metric TruePositives(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric FalsePositives(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric TrueNegatives(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric FalseNegatives(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric Precision(const Scope& scope, Output labels, Output predictions, const Options& options = {});
Metric Recall(const Scope& scope, Output labels, Output predictions, const Options& options = {});

// Intersection over union, averaged over the classes that occur. The update gives the confusion matrix.
Metric MeanIou(const Scope& scope, Output labels, Output predictions, int64_t num_classes, const Options& options = {});

// Over thresholds: predictions are from 0 to 1.
enum class Curve { kRoc, kPr };
enum class Summation { kTrapezoidal, kCarefulInterpolation, kMinoring, kMajoring };
struct AucOptions {
  int num_thresholds = 200;  // equally spaced from 0 to 1
  Curve curve = Curve::kRoc;
  Summation summation_method = Summation::kTrapezoidal;  // careful: for PR only
  std::vector<double> thresholds = {};                   // besides 0 and 1; given: in place of num_thresholds
};
// The area under a curve.
Metric Auc(const Scope& scope, Output labels, Output predictions, const Options& options = {},
           const AucOptions& how = {});
// Vectors with an element for each threshold.
Metric PrecisionAtThresholds(const Scope& scope, Output labels, Output predictions,
                             const std::vector<double>& thresholds, const Options& options = {});
Metric RecallAtThresholds(const Scope& scope, Output labels, Output predictions, const std::vector<double>& thresholds,
                          const Options& options = {});

}  // namespace millstream::metrics

#endif  // MILLSTREAM_TRAIN_METRICS_METRICS_H_
