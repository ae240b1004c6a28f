// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/train/metrics/metric_variables.h"
#include "millstream/train/operators/operators.h"

namespace millstream::metrics {
namespace {

using namespace operators;  // NOLINT(google-build-using-namespace)
using internal::AtThresholds;
using internal::EnterMetric;
using internal::Publish;

constexpr double kEpsilon = 1e-7;

// The four counts at one time: so far, or with this step.
struct Table {
  Output tp, fn, tn, fp;
};

// (a + b) + tiny, in Python's order.
Output PlusTiny(const Scope& s, Output a) { return Add(s, a, kEpsilon); }

// Davis and Goadrich 2006: between two thresholds true positives grow linearly with positives, precision does not.
Output InterpolatedArea(const Scope& s, const Table& t) {
  const auto at_least_zero = [&s](Output x) { return OpNamed(s, "", "Maximum", {x, 0}); };
  const auto is_positive = [&s](Output x) { return OpNamed(s, "", "Greater", {x, 0}); };
  const Output tp_before = AllButLast(s, t.tp), d_tp = Sub(s, tp_before, AllButFirst(s, t.tp));
  const Output p = Add(s, t.tp, t.fp), p_before = AllButLast(s, p);
  const Output d_p = at_least_zero(Sub(s, p_before, AllButFirst(s, p)));
  const Output slope = s.WithOpName("prec_slope").Op("DivNoNan", {d_tp, d_p});
  const Output tp_after = AllButFirst(s, t.tp);
  const Output intercept = Sub(s, tp_after, s.Op("Mul", {slope, AllButFirst(s, p)}));
  const Output before = is_positive(AllButLast(s, p)), after = is_positive(AllButFirst(s, p));
  const Output both = s.Op("LogicalAnd", {before, after});
  const Output numerator = AllButLast(s, p), denominator = at_least_zero(AllButFirst(s, p));
  const Output ratio = s.WithOpName("div_no_nan").Op("DivNoNan", {numerator, denominator});
  const Output safe_p = s.Op("Select", {both, ratio, OnesLike(s, AllButFirst(s, p))});
  const Output gain = Mul(s, slope, Add(s, d_tp, Mul(s, intercept, s.Op("Log", {safe_p}))));
  const Output truths = AllButFirst(s, t.tp), all = at_least_zero(Add(s, truths, AllButFirst(s, t.fn)));
  const Output areas = s.WithOpName("div_no_nan").Op("DivNoNan", {gain, all});
  return ReduceAll(s, "Sum", areas, false, "interpolate_pr_auc");
}

Output Area(const Scope& s, const Table& t, const AucOptions& how, int32_t num_thresholds, const char* name) {
  if (how.curve == Curve::kPr && how.summation_method == Summation::kCarefulInterpolation) {
    return InterpolatedArea(s, t);
  }
  const auto ratio = [&s](Output a, Output b, Output c, bool tiny) {
    const Output numerator = tiny ? PlusTiny(s, a) : a;
    return Ratio(s, numerator, PlusTiny(s, Add(s, b, c)), "");
  };
  const Output recall = ratio(t.tp, t.tp, t.fn, true);
  const bool roc = how.curve == Curve::kRoc;
  const Output other = roc ? ratio(t.fp, t.fp, t.tn, false) : ratio(t.tp, t.tp, t.fp, true);
  const Output x = roc ? other : recall, y = roc ? recall : other;
  const auto head = [&](Output v) { return Before(s, v, num_thresholds - 1); };
  const Output x_head = head(x), width = Sub(s, x_head, AllButFirst(s, x));
  const Output left = head(y), right = AllButFirst(s, y);
  Output height;
  if (how.summation_method == Summation::kMinoring) {
    height = s.Op("Minimum", {left, right});
  } else if (how.summation_method == Summation::kMajoring) {
    height = s.Op("Maximum", {left, right});
  } else {
    height = Div(s, Add(s, left, right), 2.0);
  }
  return ReduceAll(s, "Sum", s.Op("Mul", {width, height}), false, name);
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
  if (num_thresholds == 0) scope.Fail(errors::InvalidArgument("A metric over thresholds needs at least one threshold"));
  return scope.ok();
}

// True positives among themselves and another count, at each threshold.
Metric RatioMetric(const Scope& scope, Output labels, Output predictions, const std::vector<double>& thresholds,
                   const Options& options, const std::string& base, bool other_label, bool other_prediction) {
  if (!Given(scope, labels, predictions, thresholds.size())) return {};
  const Scope s = EnterMetric(scope, options, absl::StrCat(base, "_at_thresholds").c_str());
  const AtThresholds at(s, labels, predictions, options.weights, thresholds);
  const Metric hits = at.Count(true, true), rest = at.Count(other_label, other_prediction);
  if (!s.ok()) return {};
  const auto ratio = [&](Output tp, Output other, const char* name) {
    return Ratio(s, tp, Add(s, Add(s, kEpsilon, tp), other), absl::StrCat(base, name));
  };
  const Output value = ratio(hits.value, rest.value, "_value");
  return Publish(s, value, ratio(hits.update_op, rest.update_op, "_update_op"), options);
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
  const auto count = static_cast<int32_t>(at.num_thresholds);
  const Output value = Area(s, {tp.value, fn.value, tn.value, fp.value}, how, count, "value");
  const Output update = Area(s, {tp.update_op, fn.update_op, tn.update_op, fp.update_op}, how, count, "update_op");
  return Publish(s, value, update, options);
}

Metric PrecisionAtThresholds(const Scope& scope, Output labels, Output predictions,
                             const std::vector<double>& thresholds, const Options& options) {
  return RatioMetric(scope, labels, predictions, thresholds, options, "precision", false, true);
}

Metric RecallAtThresholds(const Scope& scope, Output labels, Output predictions, const std::vector<double>& thresholds,
                          const Options& options) {
  return RatioMetric(scope, labels, predictions, thresholds, options, "recall", true, false);
}

}  // namespace millstream::metrics
