// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metric_variables.h"

#include "millstream/train/losses/weights.h"
#include "millstream/train/variables/variables.h"

namespace millstream::metrics::internal {

Scope EnterMetric(const Scope& scope, const Options& options, const char* base) {
  return scope.NameScope(options.name.empty() ? base : options.name.c_str());
}

GraphVariable MetricVariable(const Scope& s, const char* name, const Shape& shape, DType dtype) {
  VariableOptions options;
  options.dtype = dtype;
  options.initializer = ZerosInitializer();
  options.trainable = false;
  options.collections = {graph_keys::kLocalVariables, graph_keys::kMetricVariables};
  return MakeVariable(s, s.UniqueName(name), shape, options);
}

Metric Total(const Scope& s, Output value, const char* name, const Shape& shape, DType dtype) {
  if (!s.ok()) return {};
  const GraphVariable total = MetricVariable(s, name, shape, dtype);
  return s.ok() ? Metric{total.value, AddToVariable(s, total, value)} : Metric();
}

Operands Matched(const Scope& s, Output labels, Output predictions, Output weights) {
  if (!s.ok()) return {};
  if (labels) RemoveSqueezableDimensions(s, &labels, &predictions);
  if (!s.ok()) return {};
  const PartialShape p = s.ShapeOf(predictions), l = s.ShapeOf(labels), w = s.ShapeOf(weights);
  if (labels && !p.IsCompatibleWith(l)) {
    s.Fail(errors::InvalidArgument("Shapes ", p.ToString(), " and ", l.ToString(), " are incompatible"));
  }
  if (!weights || w.rank() <= 0 || !p.rank_known()) return {labels, predictions, weights};
  if (w.rank() - p.rank() == 1) weights = SqueezeLast(s, weights);
  if (p.rank() - w.rank() == 1) weights = s.Op("ExpandDims", {weights, s.Const<int32_t>(-1)});
  return {labels, predictions, weights};
}

Output SafeRatio(const Scope& s, Output x, Output y, const char* name) {
  return s.WithOpName(name).Op("DivNoNan", {x, y});
}

Metric Publish(const Scope& s, Output value, Output update, const Options& options) {
  if (!s.ok()) return {};
  for (const std::string& name : options.metrics_collections) s.AddToCollection(name, value);
  for (const std::string& name : options.updates_collections) s.AddToCollection(name, update);
  return {value, update};
}

AtThresholds::AtThresholds(const Scope& scope, Output y, Output p, Output w, const std::vector<double>& thresholds)
    : s(scope), num_thresholds(static_cast<int64_t>(thresholds.size())) {
  const Operands o = Matched(s, CastTo(s, y, DType::kBool), CastTo(s, p, DType::kFloat), w);
  if (!s.ok()) return;
  const std::vector<float> limits(thresholds.begin(), thresholds.end());
  const Output column = s.Op("ExpandDims", {s.Const(Tensor::Vector(limits)), s.Const<int32_t>(1)});
  const Output row = s.Constant({1, -1});
  positive = s.Op("Greater", {s.Op("Reshape", {o.predictions, row}), column});
  labels = s.Op("Reshape", {o.labels, row});
  if (o.weights) {
    weights = s.Op("Reshape", {BroadcastWeights(s, CastTo(s, o.weights, DType::kFloat), o.predictions), row});
  }
}

Metric AtThresholds::Count(bool label, bool prediction) const {
  const char* name = label == prediction ? (label ? "true_positives" : "true_negatives")
                                         : (prediction ? "false_positives" : "false_negatives");
  const Output a = label ? labels : s.Op("LogicalNot", {labels});
  const Output b = prediction ? positive : s.Op("LogicalNot", {positive});
  Output found = CastTo(s, s.Op("LogicalAnd", {a, b}), DType::kFloat);
  if (weights) found = s.Op("Mul", {found, weights});
  return Total(s, s.Op("Sum", {found, s.Constant({1})}), name, Shape({num_thresholds}));
}

}  // namespace millstream::metrics::internal
