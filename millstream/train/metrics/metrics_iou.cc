// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metric_variables.h"
#include "millstream/train/variables/variables.h"

namespace millstream::metrics {
namespace {

Output Flat(const Scope& s, Output x) { return s.Op("Reshape", {x, s.Constant({-1})}); }
Output SumRow(const Scope& s, Output x) { return s.Op("Sum", {x, s.Constant({0})}); }

// A class that is too large would land in another's cell.
Node* CheckClasses(const Scope& s, Output classes, int64_t num_classes) {
  const Output ok = s.Op("LogicalAnd", {s.Op("GreaterEqual", {classes, s.Const<int64_t>(0)}),
                                        s.Op("Less", {classes, s.Const<int64_t>(num_classes)})});
  const Output text = s.Const(Tensor::Scalar(absl::StrCat("Classes must be in [0, ", num_classes, ")")));
  return s.Add("Assert", {s.Op("All", {ok, s.Constant({0})}), text, classes});
}

// How often (label, prediction) occurs in this step.
Output ConfusionMatrix(const Scope& s, Output labels, Output predictions, int64_t num_classes, Output weights) {
  const Output row = Flat(s, CastTo(s, labels, DType::kInt64)), column = Flat(s, CastTo(s, predictions, DType::kInt64));
  Node* const row_ok = CheckClasses(s, row, num_classes);
  Node* const column_ok = CheckClasses(s, column, num_classes);
  const Scope checked = s.WithControlDependencies({row_ok, column_ok});
  const Output cell = checked.Op("AddV2", {checked.Op("Mul", {row, s.Const<int64_t>(num_classes)}), column});
  Output counts = s.Op("Fill", {s.Op("Shape", {cell}), s.Const(1.0)});
  if (weights) counts = s.Op("Mul", {counts, Flat(s, CastTo(s, weights, DType::kDouble))});
  const Output sums = s.Op("UnsortedSegmentSum", {counts, cell, s.Const<int64_t>(num_classes * num_classes)});
  return s.Op("Reshape", {sums, s.Const(Tensor::Vector<int64_t>({num_classes, num_classes}))});
}

Output MeanOfClasses(const Scope& s, Output matrix) {
  const Output m = CastTo(s, matrix, DType::kFloat);
  const Output both = s.Op("DiagPart", {m});
  const Output either = s.Op("Sub", {s.Op("AddV2", {SumRow(s, m), s.Op("Sum", {m, s.Constant({1})})}), both});
  const Output occurs = CastTo(s, s.Op("NotEqual", {either, s.Const(0.0f)}), DType::kFloat);
  return s.WithOpName("mean_iou").Op("DivNoNan", {SumRow(s, s.Op("DivNoNan", {both, either})), SumRow(s, occurs)});
}

}  // namespace

Metric MeanIou(const Scope& scope, Output labels, Output predictions, int64_t num_classes, const Options& options) {
  if (!labels || !predictions) scope.Fail(errors::InvalidArgument("A metric needs labels and predictions"));
  if (num_classes <= 0 || num_classes > 1 << 20) {
    scope.Fail(errors::InvalidArgument("MeanIou() of ", num_classes, " classes"));
  }
  if (!scope.ok()) return {};
  const Scope s = internal::EnterMetric(scope, options, "mean_iou");
  const Output current = ConfusionMatrix(s, labels, predictions, num_classes, options.weights);
  const Metric matrix =
      internal::Total(s, current, "total_confusion_matrix", Shape({num_classes, num_classes}), DType::kDouble);
  if (!s.ok()) return {};
  return internal::Publish(s, MeanOfClasses(s, matrix.value), matrix.update_op, options);
}

}  // namespace millstream::metrics
