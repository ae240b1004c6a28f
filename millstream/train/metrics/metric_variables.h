// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_METRICS_METRIC_VARIABLES_H_
#define MILLSTREAM_TRAIN_METRICS_METRIC_VARIABLES_H_

#include "millstream/graph/variables/variable_scope.h"
#include "millstream/train/metrics/metrics.h"

namespace millstream::metrics::internal {

// What all metrics are made of.

Scope EnterMetric(const Scope& scope, const Options& options, const char* base);
// A local variable within the scope `s`, of zeros.
GraphVariable MetricVariable(const Scope& s, const char* name, const Shape& shape, DType dtype = DType::kFloat);
// One that `value` is added to: as a metric.
Metric Total(const Scope& s, Output value, const char* name, const Shape& shape = Shape(), DType dtype = DType::kFloat);
// Removes last axes of size 1 that only some of these have. Labels and weights may be empty.
struct Operands {
  Output labels, predictions, weights;
};
Operands Matched(const Scope& s, Output labels, Output predictions, Output weights);
// x / y, or 0 where y is 0: as `name` in the scope.
Output SafeRatio(const Scope& s, Output x, Output y, const char* name);
// Adds it to the collections asked for. Empty after an error.
Metric Publish(const Scope& s, Output value, Output update, const Options& options);

// Labels and predictions at thresholds: rows of them, compared with a column.
struct AtThresholds {
  AtThresholds(const Scope& s, Output labels, Output predictions, Output weights,
               const std::vector<double>& thresholds);
  // How many at each threshold have such a label and such a prediction. An empty one after an error.
  Metric Count(bool label, bool prediction) const;

  Scope s;
  int64_t num_thresholds;
  Output labels, positive, weights;  // weights may be empty
};

}  // namespace millstream::metrics::internal

#endif  // MILLSTREAM_TRAIN_METRICS_METRIC_VARIABLES_H_
