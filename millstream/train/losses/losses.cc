// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/losses.h"

#include "absl/strings/match.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/losses/cross_entropy.h"
#include "millstream/train/losses/weights.h"
#include "millstream/train/operators/operators.h"

namespace millstream::losses {
namespace {

using namespace operators;  // NOLINT(google-build-using-namespace)

// The name scope of a loss, with its operands as floats of one shape.
struct Operands {
  Scope s;
  Output labels, predictions;
};

Scope EnterLoss(const Scope& scope, const Options& options, const char* base) {
  return scope.NameScope(options.name.empty() ? base : options.name.c_str());
}

void CheckPair(const Scope& s, Output labels, Output predictions) {
  if (!s.ok()) return;
  const PartialShape l = s.ShapeOf(labels), p = s.ShapeOf(predictions);
  if (!p.IsCompatibleWith(l)) {
    s.Fail(errors::InvalidArgument("Shapes ", p.ToString(), " and ", l.ToString(), " are incompatible"));
  }
}

bool Given(const Scope& scope, Output labels, Output predictions, const char* what) {
  if (!labels) scope.Fail(errors::InvalidArgument("Argument `labels` must not be None."));
  if (!predictions) scope.Fail(errors::InvalidArgument("Argument `", what, "` must not be None."));
  return scope.ok();
}

Operands Enter(const Scope& scope, Output labels, Output predictions, const Options& options, const char* base,
               const char* what = "predictions") {
  if (!Given(scope, labels, predictions, what)) return {scope, {}, {}};
  Operands o{EnterLoss(scope, options, base), {}, {}};
  o.predictions = CastTo(o.s, predictions, DType::kFloat);
  o.labels = CastTo(o.s, labels, DType::kFloat);
  CheckPair(o.s, o.labels, o.predictions);
  return o;
}

// tf.add_n(): of one it is that one.
Output Sum(const Scope& s, const std::vector<Output>& losses, absl::string_view name) {
  return s.WithOpName(name).Op(losses.size() == 1 ? "Identity" : "AddN", losses);
}

// As math_ops.cast() of the weights that were given; of 1 if none were.
Output WeightsOf(const Scope& s, const Options& options) {
  if (options.weights) return CastTo(s, options.weights, DType::kFloat);
  return s.NameScope("Cast").WithOpName("x").Const(1.0f);
}

// The checks that the weights fit.
std::vector<Node*> WeightChecks(const Scope& s, Output weights, Output values) {
  if (!weights) s.WithOpName("weights").Const(1.0f);  // as in Python, where the check makes a tensor of its own
  return weights ? AssertBroadcastable(s, weights, values) : std::vector<Node*>();
}

// How many elements have a weight that is not zero; with `per_row` of each row, which keeps the rank.
Output NumPresent(const Scope& scope, Output losses, Output weights, bool per_row = false) {
  const Scope s = scope.NameScope("num_present");
  Tensor known;
  if (!per_row && s.ShapeOf(weights).rank() == 0 && s.ConstantValue(weights, &known)) {
    const Output count = CastTo(s, SizeOf(s, losses), losses.dtype());
    return known.scalar<float>() == 0 ? ZerosLike(s, count) : count;
  }
  const Output absent = OpNamed(s, "", "Equal", {weights, 0.0});
  const Output zeros = ZerosLike(s, weights);
  const Output nonzero = s.Op("Select", {absent, zeros, OnesLike(s, weights)});
  const Output present = Mul(s, nonzero, OnesLike(s, losses));
  if (!per_row) return ReduceAll(s, "Sum", present, false, s.name_prefix());
  const Output axes = Range(s, 1, RankOf(s, present));
  return s.WithOpName(s.name_prefix()).Op("Sum", {present, axes}, {{"keep_dims", true}});
}

Output SafeMean(const Scope& s, Output total, Output count) {
  return s.WithOpName("value").Op("DivNoNan", {ReduceAll(s, "Sum", total), count});
}

Output Reduced(const Scope& s, Output losses, Output weights, Reduction reduction) {
  if (reduction == Reduction::kNone) return losses;
  const Output sum = ReduceAll(s, "Sum", losses);
  switch (reduction) {
    case Reduction::kMean:
      return SafeMean(s, sum, ReduceAll(s, "Sum", Mul(s, OnesLike(s, losses), weights)));
    case Reduction::kSumOverBatchSize:
      return SafeMean(s, sum, CastTo(s, SizeOf(s, losses, "num_elements"), losses.dtype()));
    case Reduction::kSumByNonzeroWeights:
      return SafeMean(s, sum, NumPresent(s, losses, weights));
    default:
      return sum;
  }
}

// In the scope `s`, which is the loss's own.
Output Weighted(const Scope& s, Output losses, const Options& options) {
  if (!s.ok()) return {};
  const Scope checked = s.WithControlDependencies(WeightChecks(s, options.weights, losses));
  const DType dtype = losses.dtype();
  const Output values = CastTo(checked, losses, DType::kFloat), weights = WeightsOf(checked, options);
  const Output weighted = checked.Op("Mul", {values, weights});
  if (!s.ok()) return {};
  const Output loss = CastTo(checked, Reduced(checked, weighted, weights, options.reduction), dtype);
  AddLoss(s, loss, options.collection);
  return s.ok() ? loss : Output();
}

}  // namespace

Output ComputeWeightedLoss(const Scope& scope, Output losses, const Options& options) {
  if (!losses) scope.Fail(errors::InvalidArgument("There are no losses to weigh"));
  if (!scope.ok()) return {};
  return Weighted(EnterLoss(scope, options, "weighted_loss"), losses, options);
}

Output AbsoluteDifference(const Scope& scope, Output labels, Output predictions, const Options& options) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "absolute_difference");
  return Weighted(s, s.Op("Abs", {s.Op("Sub", {p, y})}), options);
}

Output MeanSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "mean_squared_error");
  return Weighted(s, s.Op("SquaredDifference", {p, y}), options);
}

Output CosineDistance(const Scope& scope, Output labels, Output predictions, int axis, const Options& options) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "cosine_distance_loss");
  const Output product = Reduce(s, "Sum", s.Op("Mul", {p, y}), std::vector<int32_t>{axis}, true);
  return Weighted(s, Sub(s, 1, product), options);
}

Output HingeLoss(const Scope& scope, Output labels, Output logits, const Options& options) {
  const auto [s, y, x] = Enter(scope, labels, logits, options, "hinge_loss", "logits");
  if (!s.ok()) return {};
  const Output ones = OnesLike(s, y);
  const Output sign = s.Op("Sub", {Mul(s, 2, y), ones});
  return Weighted(s, s.Op("Relu", {s.Op("Sub", {ones, s.Op("Mul", {sign, x})})}), options);
}

Output HuberLoss(const Scope& scope, Output labels, Output predictions, const Options& options, double delta) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "huber_loss");
  const Output error = s.Op("Abs", {s.Op("Sub", {p, y})});
  const Output limit = s.Const(static_cast<float>(delta));
  const Output quadratic = s.Op("Minimum", {error, limit});
  const Output linear = s.Op("Sub", {error, quadratic});
  const Output half = s.Const(0.5f), square = s.Op("Mul", {quadratic, quadratic});
  const Output inner = s.Op("Mul", {half, square}), outer = s.Op("Mul", {limit, linear});
  return Weighted(s, s.WithOpName("Add").Op("AddV2", {inner, outer}), options);
}

Output LogLoss(const Scope& scope, Output labels, Output predictions, const Options& options, double epsilon) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "log_loss");
  const Output if_true = s.Op("Neg", {s.Op("Mul", {y, s.Op("Log", {Add(s, p, epsilon)})})});
  const Output is_false = Sub(s, 1, y);
  const Output other = s.Op("Log", {Add(s, Sub(s, 1, p), epsilon)});
  return Weighted(s, Sub(s, if_true, s.Op("Mul", {is_false, other})), options);
}

Output MeanPairwiseSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options) {
  if (!Given(scope, labels, predictions, "predictions")) return {};
  const Scope plain = EnterLoss(scope, options, "mean_pairwise_squared_error");
  const Output weights = WeightsOf(plain, options);
  const Output p = CastTo(plain, predictions, DType::kFloat), y = CastTo(plain, labels, DType::kFloat);
  CheckPair(plain, y, p);
  if (!plain.ok()) return {};
  const Scope s = plain.WithControlDependencies(AssertBroadcastable(plain, weights, y));
  const Output diffs = s.Op("Sub", {p, y}), axes = Range(s, 1, RankOf(s, diffs));
  const auto row_sum = [&](Output x) { return s.Op("Sum", {x, axes}, {{"keep_dims", true}}); };
  const auto twice_over = [&](Output x, Output n) {
    const Output count = OpNamed(s, "", "Maximum", {n, 0});
    return Mul(s, 2.0, s.WithOpName("value").Op("DivNoNan", {x, count}));
  };
  const Output squares = row_sum(s.Op("Square", {diffs}));
  const Output present = NumPresent(s, diffs, weights, /*per_row=*/true);
  const Output first = twice_over(squares, Sub(s, present, 1));
  const Output square_of_sum = s.Op("Square", {row_sum(diffs)});
  const Output second = twice_over(square_of_sum, s.Op("Mul", {present, Sub(s, present, 1)}));
  const Output total = ReduceAll(s, "Sum", s.Op("Mul", {Sub(s, first, second), weights}));
  const Output any = OpNamed(s, "", "Greater", {ReduceAll(s, "Sum", present), 0});
  const Output loss = s.WithOpName("value").Op("Select", {any, total, ZerosLike(s, total)});
  AddLoss(s, loss, options.collection);
  return loss;
}

Output SigmoidCrossEntropy(const Scope& scope, Output labels, Output logits, const Options& options,
                           double label_smoothing) {
  if (!Given(scope, labels, logits, "logits")) return {};
  const Scope s = EnterLoss(scope, options, "sigmoid_cross_entropy_loss");
  labels = CastTo(s, labels, logits.dtype());
  CheckPair(s, labels, logits);
  if (label_smoothing > 0) labels = Add(s, Mul(s, labels, 1 - label_smoothing), 0.5 * label_smoothing);
  return Weighted(s, SigmoidCrossEntropyWithLogits(s, labels, logits), options);
}

Output SoftmaxCrossEntropy(const Scope& scope, Output onehot_labels, Output logits, const Options& options,
                           double label_smoothing) {
  if (!Given(scope, onehot_labels, logits, "logits")) return {};
  const Scope s = EnterLoss(scope, options, "softmax_cross_entropy_loss");
  Output labels = CastTo(s, onehot_labels, logits.dtype());
  CheckPair(s, labels, logits);
  if (label_smoothing > 0 && s.ok()) {
    const Output classes = CastTo(s, Last(s, ShapeOf(s, labels)), logits.dtype());
    const Output kept = Mul(s, labels, 1.0 - label_smoothing);
    labels = Add(s, kept, Div(s, label_smoothing, classes));
  }
  labels = s.WithOpName("labels_stop_gradient").Op("StopGradient", {labels});
  return Weighted(s, SoftmaxCrossEntropyWithLogits(s, labels, logits), options);
}

Output SparseSoftmaxCrossEntropy(const Scope& scope, Output labels, Output logits, const Options& options) {
  if (!Given(scope, labels, logits, "logits")) return {};
  const Scope s = EnterLoss(scope, options, "sparse_softmax_cross_entropy_loss");
  RemoveSqueezableDimensions(s, &labels, &logits, 1);
  if (!s.ok()) return {};
  Options own = options;
  if (own.weights && s.ShapeOf(labels).rank_known() && s.ShapeOf(own.weights).rank() == s.ShapeOf(labels).rank() + 1) {
    own.weights = SqueezeLast(s, own.weights);
  }
  return Weighted(s, SparseSoftmaxCrossEntropyWithLogits(s, labels, logits), own);
}

void AddLoss(const Scope& scope, Output loss, const std::string& collection) {
  if (!collection.empty() && loss && scope.ok()) scope.AddToCollection(collection, loss);
}

std::vector<Output> GetLosses(const Scope& scope, absl::string_view prefix, const std::string& collection) {
  std::vector<Output> found;
  for (const Output& loss : scope.Collection(collection)) {
    if (absl::StartsWith(loss.node->name(), prefix)) found.push_back(loss);
  }
  return found;
}

std::vector<Output> GetRegularizationLosses(const Scope& scope, absl::string_view prefix) {
  return GetLosses(scope, prefix, graph_keys::kRegularizationLosses);
}

Output GetRegularizationLoss(const Scope& scope, absl::string_view prefix, absl::string_view name) {
  const std::vector<Output> losses = GetRegularizationLosses(scope, prefix);
  return losses.empty() ? scope.Const(0.0f) : Sum(scope, losses, name);
}

Output GetTotalLoss(const Scope& scope, bool add_regularization_losses, absl::string_view name,
                    absl::string_view prefix) {
  std::vector<Output> losses = GetLosses(scope, prefix);
  if (add_regularization_losses) {
    const std::vector<Output> more = GetRegularizationLosses(scope, prefix);
    losses.insert(losses.end(), more.begin(), more.end());
  }
  if (losses.empty()) scope.Fail(errors::InvalidArgument("There are no losses to add"));
  return scope.ok() ? Sum(scope, losses, name) : Output();
}

}  // namespace millstream::losses
