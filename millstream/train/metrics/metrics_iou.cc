// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/metrics/metric_variables.h"
#include "millstream/train/operators/operators.h"

namespace millstream::metrics {
namespace {

Tensor Text(const std::string& text) { return Tensor::Scalar(text); }

// tf.metrics.mean_iou flattens what has several dimensions.
Output Flat(const Scope& s, Output x) {
  const int rank = s.ShapeOf(x).rank();
  return rank == 0 || rank == 1 ? x : OpNamed(s, "", "Reshape", {x, std::vector<int32_t>{-1}});
}

// The values after an Assert of `holds`, a condition of all of them; `data` is reported if it fails.
Node* AssertAll(const Scope& s, Output holds, const std::vector<Operand>& data) {
  const Output all = operators::ReduceAll(s, "All", holds);
  const Scope in = s.NameScope("Assert");
  std::vector<Output> inputs = {all};
  for (const Operand& value : data) inputs.push_back(value.ToOutput(in, "Const", DType::kString));
  return in.Add("Assert", std::move(inputs));
}

std::string Described(const char* what, Output value) { return absl::StrCat(what, " (", value.name(), ") = "); }

// tf.assert_non_negative().
Output NonNegative(const Scope& scope, Output x, const char* what) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("assert_non_negative").NameScope("assert_less_equal");
  const Output zero = s.WithOpName("x").Const<int64_t>(0);
  Node* check = AssertAll(s, s.Op("LessEqual", {zero, x}),
                          {Text(absl::StrCat("`", what, "` contains negative values.  ")),
                           Text("Condition x >= 0 did not hold element-wise:"), Text(Described("x", x)), x});
  return scope.WithControlDependencies({check}).Op("Identity", {x});
}

// tf.assert_less().
Output Less(const Scope& scope, Output x, Output limit, const char* what) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("assert_less");
  Node* check =
      AssertAll(s, s.Op("Less", {x, limit}),
                {Text(absl::StrCat("`", what, "` out of bound")), Text("Condition x < y did not hold element-wise:"),
                 Text(Described("x", x)), x, Text(Described("y", limit)), limit});
  return scope.WithControlDependencies({check}).Op("Identity", {x});
}

// How often (label, prediction) occurs in this step. Classes out of range fail the step.
Output ConfusionMatrix(const Scope& scope, Output labels, Output predictions, Output num_classes, Output weights) {
  const Scope s = scope.NameScope("confusion_matrix");
  labels = NonNegative(s, labels, "labels");
  predictions = NonNegative(s, predictions, "predictions");
  labels = Less(s, labels, num_classes, "labels");
  predictions = Less(s, predictions, num_classes, "predictions");
  const Output shape = s.WithOpName("stack").Op("Pack", {num_classes, num_classes});
  const Output cells = s.WithOpName("stack").Op("Pack", {labels, predictions}, {{"axis", int64_t{1}}});
  if (!s.ok()) return {};
  const Output counts =
      weights ? CastTo(s, weights, DType::kDouble) : operators::OnesLike(s, predictions, DType::kDouble);
  return s.Op("ScatterNd", {cells, counts, shape});
}

Output MeanOfClasses(const Scope& s, Output matrix) {
  const auto as_float = [&s](Output x) { return CastTo(s, x, DType::kFloat); };
  const Output rows = as_float(operators::Reduce(s, "Sum", matrix, 0));
  const Output columns = as_float(operators::Reduce(s, "Sum", matrix, 1));
  const Output both = as_float(s.Op("DiagPart", {matrix}));
  const Output either = operators::Sub(s, operators::Add(s, rows, columns), both);
  const Output occur = operators::ReduceAll(s, "Sum", as_float(OpNamed(s, "", "NotEqual", {either, 0})));
  const Output positive = OpNamed(s, "", "Greater", {either, 0});
  const Output divisor = s.Op("Select", {positive, either, operators::OnesLike(s, either)});
  const Output sum = operators::ReduceAll(s, "Sum", operators::Ratio(s, both, divisor, ""), false, "mean_iou");
  const Output mean = operators::Div(s, sum, occur);
  return OpNamed(s, "", "Select", {OpNamed(s, "", "Greater", {occur, 0}), mean, 0});
}

}  // namespace

Metric MeanIou(const Scope& scope, Output labels, Output predictions, int64_t num_classes, const Options& options) {
  if (!labels || !predictions) scope.Fail(errors::InvalidArgument("A metric needs labels and predictions"));
  if (num_classes <= 0 || num_classes > 1 << 20) {
    scope.Fail(errors::InvalidArgument("MeanIou() of ", num_classes, " classes"));
  }
  if (!scope.ok()) return {};
  const Scope s = internal::EnterMetric(scope, options, "mean_iou");
  const GraphVariable matrix =
      internal::MetricVariable(s, "total_confusion_matrix", Shape({num_classes, num_classes}), DType::kDouble);
  predictions = CastTo(s, predictions, DType::kInt64);
  labels = CastTo(s, labels, DType::kInt64);
  const Output classes =
      OpNamed(s, "Cast", "Cast", {Tensor::Scalar(static_cast<int32_t>(num_classes))}, {{"DstT", DType::kInt64}});
  predictions = Flat(s, predictions);
  labels = Flat(s, labels);
  const Output weights = options.weights ? Flat(s, options.weights) : Output();
  const Output current = ConfusionMatrix(s, labels, predictions, classes, weights);
  if (!s.ok()) return {};
  const Output update = AddToVariable(s, matrix, current);
  return internal::Publish(s, MeanOfClasses(s, matrix.value), update, options);
}

}  // namespace millstream::metrics
