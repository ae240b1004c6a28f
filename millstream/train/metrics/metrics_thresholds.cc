// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/train/metrics/metric_variables.h"
#include "millstream/train/variables/variables.h"

namespace millstream::metrics {
namespace {

using internal::AtThresholds;
using internal::EnterMetric;
using internal::Publish;

constexpr double kEpsilon = 1e-7;

// The four counts at one time: so far, or with this step.
struct Table {
  Output tp, fn, tn, fp;
};

Output Plus(const Scope& s, Output a, Output b) { return s.Op("AddV2", {a, b}); }
Output PlusTiny(const Scope& s, Output a) { return Plus(s, a, s.Const(static_cast<float>(kEpsilon))); }

// Elements but the last; elements but the first.
Output Head(const Scope& s, Output x) {
  return s.Op("StridedSlice", {x, s.Constant({0}), s.Constant({-1}), s.Constant({1})}, {{"begin_mask", 1}});
}
Output Tail(const Scope& s, Output x) {
  return s.Op("StridedSlice", {x, s.Constant({1}), s.Constant({0}), s.Constant({1})}, {{"end_mask", 1}});
}

// Davis and Goadrich 2006: between two thresholds true positives grow linearly with positives, precision does not.
Output InterpolatedArea(const Scope& s, const Table& t) {
  const auto at_least_zero = [&s](Output x) { return s.Op("Maximum", {x, s.Const(0.0f)}); };
  const Output positives = Plus(s, t.tp, t.fp);
  const Output before = Head(s, positives), after = Tail(s, positives), tp_after = Tail(s, t.tp);
  const Output d_tp = s.Op("Sub", {Head(s, t.tp), tp_after});
  const Output slope = s.WithOpName("prec_slope").Op("DivNoNan", {d_tp, at_least_zero(s.Op("Sub", {before, after}))});
  const Output intercept = s.Op("Sub", {tp_after, s.Op("Mul", {slope, after})});
  const auto positive = [&s](Output x) { return s.Op("Greater", {x, s.Const(0.0f)}); };
  const Output ratio = s.Op("SelectV2", {s.Op("LogicalAnd", {positive(before), positive(after)}),
                                         s.Op("DivNoNan", {before, at_least_zero(after)}), s.Const(1.0f)});
  const Output gain = s.Op("Mul", {slope, Plus(s, d_tp, s.Op("Mul", {intercept, s.Op("Log", {ratio})}))});
  const Output truths = at_least_zero(Plus(s, tp_after, Tail(s, t.fn)));
  return s.WithOpName("interpolate_pr_auc").Op("Sum", {s.Op("DivNoNan", {gain, truths}), s.Constant({0})});
}

Output Area(const Scope& s, const Table& t, const AucOptions& how, const char* name) {
  if (how.curve == Curve::kPr && how.summation_method == Summation::kCarefulInterpolation) {
    return InterpolatedArea(s, t);
  }
  const Output recall = s.Op("RealDiv", {PlusTiny(s, t.tp), PlusTiny(s, Plus(s, t.tp, t.fn))});
  Output x = recall, y;
  if (how.curve == Curve::kRoc) {
    x = s.Op("RealDiv", {t.fp, PlusTiny(s, Plus(s, t.fp, t.tn))});
    y = recall;
  } else {
    y = s.Op("RealDiv", {PlusTiny(s, t.tp), PlusTiny(s, Plus(s, t.tp, t.fp))});
  }
  const Output width = s.Op("Sub", {Head(s, x), Tail(s, x)});
  const Output left = Head(s, y), right = Tail(s, y);
  Output height;
  if (how.summation_method == Summation::kMinoring) {
    height = s.Op("Minimum", {left, right});
  } else if (how.summation_method == Summation::kMajoring) {
    height = s.Op("Maximum", {left, right});
  } else {
    height = s.Op("RealDiv", {Plus(s, left, right), s.Const(2.0f)});
  }
  return s.WithOpName(name).Op("Sum", {s.Op("Mul", {width, height}), s.Constant({0})});
}

std::vector<double> Thresholds(const AucOptions& how) {
  std::vector<double> all = how.thresholds;
  std::sort(all.begin(), all.end());
  if (all.empty()) {
    for (int i = 1; i < how.num_thresholds - 1; ++i) all.push_back(i / static_cast<double>(how.num_thresholds - 1));
  }
  all.insert(all.begin(), -kEpsilon);
  all.push_back(1 + kEpsilon);
  return all;
}

bool Given(const Scope& scope, Output labels, Output predictions, size_t num_thresholds) {
  if (!labels || !predictions) scope.Fail(errors::InvalidArgument("A metric needs labels and predictions"));
  if (num_thresholds == 0) scope.Fail(errors::InvalidArgument("A metric over thresholds needs one"));
  return scope.ok();
}

// True positives among themselves and another count, at each threshold.
Metric Ratio(const Scope& scope, Output labels, Output predictions, const std::vector<double>& thresholds,
             const Options& options, const std::string& base, bool other_label, bool other_prediction) {
  if (!Given(scope, labels, predictions, thresholds.size())) return {};
  const Scope s = EnterMetric(scope, options, absl::StrCat(base, "_at_thresholds").c_str());
  const AtThresholds at(s, labels, predictions, options.weights, thresholds);
  const Metric hits = at.Count(true, true), rest = at.Count(other_label, other_prediction);
  if (!s.ok()) return {};
  const auto ratio = [&](Output tp, Output other, const char* name) {
    return s.WithOpName(absl::StrCat(base, name)).Op("RealDiv", {tp, Plus(s, PlusTiny(s, tp), other)});
  };
  return Publish(s, ratio(hits.value, rest.value, "_value"), ratio(hits.update_op, rest.update_op, "_update_op"),
                 options);
}

}  // namespace

Metric Auc(const Scope& scope, Output labels, Output predictions, const Options& options, const AucOptions& how) {
  if (how.thresholds.empty() && how.num_thresholds < 2) {
    scope.Fail(errors::InvalidArgument("Auc() of ", how.num_thresholds, " thresholds"));
  }
  if (!Given(scope, labels, predictions, 2)) return {};
  const Scope s = EnterMetric(scope, options, "auc");
  const AtThresholds at(s, labels, predictions, options.weights, Thresholds(how));
  const Metric tp = at.Count(true, true), fn = at.Count(true, false);
  const Metric tn = at.Count(false, false), fp = at.Count(false, true);
  if (!s.ok()) return {};
  const Output value = Area(s, {tp.value, fn.value, tn.value, fp.value}, how, "value");
  const Output update = Area(s, {tp.update_op, fn.update_op, tn.update_op, fp.update_op}, how, "update_op");
  return Publish(s, value, update, options);
}

Metric PrecisionAtThresholds(const Scope& scope, Output labels, Output predictions,
                             const std::vector<double>& thresholds, const Options& options) {
  return Ratio(scope, labels, predictions, thresholds, options, "precision", false, true);
}

Metric RecallAtThresholds(const Scope& scope, Output labels, Output predictions, const std::vector<double>& thresholds,
                          const Options& options) {
  return Ratio(scope, labels, predictions, thresholds, options, "recall", true, false);
}

}  // namespace millstream::metrics
