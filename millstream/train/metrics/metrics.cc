// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metrics.h"

#include "millstream/train/losses/weights.h"
#include "millstream/train/metrics/metric_variables.h"
#include "millstream/train/operators/operators.h"

namespace millstream::metrics {
namespace {

using namespace operators;  // NOLINT(google-build-using-namespace)
using internal::EnterMetric;
using internal::Matched;
using internal::MetricVariable;
using internal::Operands;
using internal::Publish;
using internal::SafeRatio;

bool Given(const Scope& scope, Output labels, Output predictions) {
  if (!labels || !predictions) scope.Fail(errors::InvalidArgument("A metric needs labels and predictions"));
  return scope.ok();
}

Options Named(const Options& options, const char* base) {
  Options own = options;
  if (own.name.empty()) own.name = base;
  return own;
}

// The mean of what `error` makes of labels and predictions, which are cast to floats.
template <typename Error>
Metric MeanError(const Scope& scope, Output labels, Output predictions, const Options& options, const char* base,
                 const Error& error) {
  if (!Given(scope, labels, predictions)) return {};
  const Output p = CastTo(scope, predictions, DType::kFloat);
  const Operands o = Matched(scope, CastTo(scope, labels, DType::kFloat), p, options.weights);
  if (!scope.ok()) return {};
  Options own = Named(options, base);
  own.weights = o.weights;
  return Mean(scope, error(o.labels, o.predictions), own);
}

// What `f` makes of a metric that is in no collection.
template <typename F>
Metric Mapped(const Scope& scope, const Metric& metric, const Options& options, const F& f) {
  if (!scope.ok()) return {};
  const Output value = f(metric.value), update = f(metric.update_op);  // in this order, as their names tell
  return Publish(scope, value, update, options);
}

Options Unpublished(Options options) {
  options.metrics_collections.clear();
  options.updates_collections.clear();
  return options;
}

Operands AsBools(const Scope& s, Output labels, Output predictions, Output weights) {
  const Output p = CastTo(s, predictions, DType::kBool);
  return Matched(s, CastTo(s, labels, DType::kBool), p, weights);
}

// How often labels and predictions are as wanted.
Metric Count(const Scope& scope, Output labels, Output predictions, const Options& options, const char* base,
             bool label, bool prediction) {
  if (!Given(scope, labels, predictions)) return {};
  const Scope s = EnterMetric(scope, options, base);
  const Operands o = AsBools(s, labels, predictions, options.weights);
  if (!s.ok()) return {};
  const Output a = label ? o.labels : s.Op("LogicalNot", {o.labels});
  const Output b = prediction ? o.predictions : s.Op("LogicalNot", {o.predictions});
  Output found = CastTo(s, s.Op("LogicalAnd", {a, b}), DType::kFloat);
  if (!s.ok()) return {};
  if (o.weights) found = Mul(s, found, BroadcastWeights(s, CastTo(s, o.weights, DType::kFloat), found));
  const Metric count = internal::Total(s, SumAll(s, found), "count");
  return Publish(s, count.value, count.update_op, options);
}

// True positives among themselves and what `other` counts.
Metric Ratio(const Scope& scope, Output labels, Output predictions, const Options& options, const char* base,
             Metric (*other)(const Scope&, Output, Output, const Options&)) {
  if (!Given(scope, labels, predictions)) return {};
  const Scope s = EnterMetric(scope, options, base);
  const Operands o = AsBools(s, labels, predictions, options.weights);
  if (!s.ok()) return {};
  const Options plain = {.weights = o.weights};
  const Metric hits = TruePositives(s, o.labels, o.predictions, plain);
  const Metric rest = other(s, o.labels, o.predictions, plain);
  if (!s.ok()) return {};
  const Output value = SafeRatio(s, hits.value, Add(s, hits.value, rest.value), "value");
  const Output update = SafeRatio(s, hits.update_op, Add(s, hits.update_op, rest.update_op), "update_op");
  return Publish(s, value, update, options);
}

}  // namespace

Metric Mean(const Scope& scope, Output values, const Options& options) {
  if (!values) scope.Fail(errors::InvalidArgument("A metric needs values"));
  if (!scope.ok()) return {};
  const Scope s = EnterMetric(scope, options, "mean");
  values = CastTo(s, values, DType::kFloat);
  const GraphVariable total = MetricVariable(s, "total", Shape()), count = MetricVariable(s, "count", Shape());
  Output number;
  if (options.weights && s.ok()) {
    const Operands o = Matched(s, {}, values, options.weights);
    const Output weights = s.ok() ? BroadcastWeights(s, CastTo(s, o.weights, DType::kFloat), o.predictions) : Output();
    values = Mul(s, o.predictions, weights);
    number = SumAll(s, weights);
  } else {
    number = CastTo(s, SizeOf(s, values), DType::kFloat);
  }
  const Output sum = SumAll(s, values);
  if (!s.ok()) return {};
  const Output new_total = AddToVariable(s, total, sum);
  const Output new_count = AddToVariable(s.WithControlDependencies({values.node}), count, number);
  const Output update = SafeRatio(s, new_total, OpNamed(s, "", "Maximum", {new_count, 0}), "update_op");
  return Publish(s, SafeRatio(s, total.value, count.value, "value"), update, options);
}

Metric MeanTensor(const Scope& scope, Output values, const Options& options) {
  if (!values) scope.Fail(errors::InvalidArgument("A metric needs values"));
  if (!scope.ok()) return {};
  const Scope s = EnterMetric(scope, options, "mean");
  const PartialShape shape = s.ShapeOf(values);
  if (!shape.IsFullyDefined()) {
    s.Fail(errors::InvalidArgument("MeanTensor() needs values of known shape. Found ", shape.ToString()));
    return {};
  }
  values = CastTo(s, values, DType::kFloat);
  const GraphVariable total = MetricVariable(s, "total_tensor", shape.ToShape());
  const GraphVariable count = MetricVariable(s, "count_tensor", shape.ToShape());
  Output number = OnesLike(s, values);
  if (options.weights) {
    const Operands o = Matched(s, {}, values, options.weights);
    const Output weights = s.ok() ? BroadcastWeights(s, CastTo(s, o.weights, DType::kFloat), values) : Output();
    values = Mul(s, values, weights);
    number = Mul(s, number, weights);
  }
  if (!s.ok()) return {};
  const Output new_total = AddToVariable(s, total, values);
  const Output new_count = AddToVariable(s.WithControlDependencies({values.node}), count, number);
  return Publish(s, SafeRatio(s, total.value, count.value, "value"), SafeRatio(s, new_total, new_count, "update_op"),
                 options);
}

Metric Accuracy(const Scope& scope, Output labels, Output predictions, const Options& options) {
  if (!Given(scope, labels, predictions)) return {};
  const Operands o = Matched(scope, labels, predictions, options.weights);
  if (!scope.ok()) return {};
  Options own = Named(options, "accuracy");
  own.weights = o.weights;
  const Output guess = CastTo(scope, o.predictions, o.labels.dtype());
  return Mean(scope, CastTo(scope, scope.Op("Equal", {guess, o.labels}), DType::kFloat), own);
}

Metric MeanAbsoluteError(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return MeanError(scope, labels, predictions, options, "mean_absolute_error",
                   [&scope](Output y, Output p) { return scope.Op("Abs", {Sub(scope, p, y)}); });
}

Metric MeanSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return MeanError(scope, labels, predictions, options, "mean_squared_error", [&scope](Output y, Output p) {
    return scope.Op("SquaredDifference", {y, p});
  });
}

Metric RootMeanSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options) {
  const Metric squared =
      MeanSquaredError(scope, labels, predictions, Unpublished(Named(options, "root_mean_squared_error")));
  return Mapped(scope, squared, options, [&scope](Output x) { return scope.Op("Sqrt", {x}); });
}

Metric MeanRelativeError(const Scope& scope, Output labels, Output predictions, Output normalizer,
                         const Options& options) {
  return MeanError(scope, labels, predictions, options, "mean_relative_error", [&](Output y, Output p) {
    const Output divisor = CastTo(scope, normalizer, DType::kFloat);
    return scope.WithOpName("div_no_nan").Op("DivNoNan", {scope.Op("Abs", {Sub(scope, y, p)}), divisor});
  });
}

Metric MeanCosineDistance(const Scope& scope, Output labels, Output predictions, int dim, const Options& options) {
  const Metric products = MeanError(
      scope, labels, predictions, Unpublished(options), "mean_cosine_distance",
      [&](Output y, Output p) { return Reduce(scope, "Sum", Mul(scope, p, y), std::vector<int32_t>{dim}, true); });
  return Mapped(scope, products, options, [&scope](Output x) { return OpNamed(scope, "", "Sub", {1.0, x}); });
}

Metric PercentageBelow(const Scope& scope, Output values, double threshold, const Options& options) {
  if (!values) scope.Fail(errors::InvalidArgument("A metric needs values"));
  if (!scope.ok()) return {};
  const Output below = OpNamed(scope, "", "Less", {values, threshold});
  return Mean(scope, CastTo(scope, below, DType::kFloat), Named(options, "percentage_below_threshold"));
}

Metric TruePositives(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return Count(scope, labels, predictions, options, "true_positives", true, true);
}
Metric FalsePositives(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return Count(scope, labels, predictions, options, "false_positives", false, true);
}
Metric TrueNegatives(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return Count(scope, labels, predictions, options, "true_negatives", false, false);
}
Metric FalseNegatives(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return Count(scope, labels, predictions, options, "false_negatives", true, false);
}
Metric Precision(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return Ratio(scope, labels, predictions, options, "precision", FalsePositives);
}
Metric Recall(const Scope& scope, Output labels, Output predictions, const Options& options) {
  return Ratio(scope, labels, predictions, options, "recall", FalseNegatives);
}

}  // namespace millstream::metrics
