// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metric_variables.h"

#include "millstream/train/losses/weights.h"
#include "millstream/train/operators/operators.h"

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
  if (p.rank() - w.rank() == 1) weights = OpNamed(s, "", "ExpandDims", {weights, std::vector<int32_t>{-1}});
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
  const Output values = CastTo(s, p, DType::kFloat);
  const Operands o = Matched(s, CastTo(s, y, DType::kBool), values, w);
  if (!s.ok()) return;
  Tensor limits(DType::kFloat, Shape({num_thresholds, 1}));
  for (size_t i = 0; i < thresholds.size(); ++i) limits.flat<float>()[i] = static_cast<float>(thresholds[i]);
  const Output column = s.Const(std::move(limits));
  const auto row = [&](Output x) { return OpNamed(s, "", "Reshape", {x, std::vector<int32_t>{1, -1}}); };
  positive = s.Op("Greater", {row(o.predictions), column});
  labels = OpNamed(s, "", "Tile", {row(o.labels), std::vector<int32_t>{static_cast<int32_t>(num_thresholds), 1}});
  if (o.weights) weights = row(BroadcastWeights(s, CastTo(s, o.weights, DType::kFloat), o.predictions));
}

Metric AtThresholds::Count(bool label, bool prediction) const {
  const char* name = label == prediction ? (label ? "true_positives" : "true_negatives")
                                         : (prediction ? "false_positives" : "false_negatives");
  const Output a = label ? labels : s.Op("LogicalNot", {labels});
  const Output b = prediction ? positive : s.Op("LogicalNot", {positive});
  Output found = CastTo(s, s.Op("LogicalAnd", {a, b}), DType::kFloat);
  if (weights) found = operators::Mul(s, found, weights);
  return Total(s, operators::Reduce(s, "Sum", found, 1), name, Shape({num_thresholds}));
}

}  // namespace millstream::metrics::internal
