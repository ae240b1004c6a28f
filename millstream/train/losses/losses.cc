// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/losses.h"

#include "absl/strings/match.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/losses/cross_entropy.h"
#include "millstream/train/losses/weights.h"
#include "millstream/train/variables/variables.h"

namespace millstream::losses {
namespace {

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

Output Number(const Scope& s, double value) { return s.Const(static_cast<float>(value)); }

Output NumElements(const Scope& s, Output x) {
  return CastTo(s, s.WithOpName("num_elements").Op("Size", {x}), x.dtype());
}

// How many elements have a weight that is not zero; of each row with `per_row`, which keeps the rank.
Output NumPresent(const Scope& scope, Output losses, Output weights, Output rows_axes = {}) {
  const Scope s = scope.NameScope("num_present");
  Tensor known;
  if (!rows_axes && s.ShapeOf(weights).rank() == 0 && s.ConstantValue(weights, &known)) {
    if (known.scalar<float>() == 0) return s.Const(0.0f);
    return CastTo(s, s.Op("Size", {losses}), losses.dtype());
  }
  const Output zero = s.Const(0.0f);
  const Output nonzero = CastTo(s, s.Op("NotEqual", {weights, zero}), losses.dtype());
  const Output present = s.Op("Mul", {nonzero, OnesFor(s, losses)});
  return rows_axes ? s.Op("Sum", {present, rows_axes}, {{"keep_dims", true}}) : SumAll(s, present);
}

Output SafeMean(const Scope& s, Output total, Output count) {
  return s.WithOpName("value").Op("DivNoNan", {total, count});
}

Output Reduce(const Scope& s, Output losses, Output weights, Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
      return losses;
    case Reduction::kSum:
      return SumAll(s, losses);
    case Reduction::kMean:
      return SafeMean(s, SumAll(s, losses), SumAll(s, s.Op("Mul", {OnesFor(s, losses), weights})));
    case Reduction::kSumOverBatchSize:
      return SafeMean(s, SumAll(s, losses), NumElements(s, losses));
    case Reduction::kSumByNonzeroWeights:
      return SafeMean(s, SumAll(s, losses), NumPresent(s, losses, weights));
  }
  return {};
}

// In the scope `s`, which is the loss's own.
Output Weighted(const Scope& s, Output losses, const Options& options) {
  if (!s.ok()) return {};
  const Output weights = CastTo(s, options.weights ? options.weights : s.Const(1.0f), DType::kFloat);
  const Scope checked = s.WithControlDependencies(AssertBroadcastable(s, weights, losses));
  const DType dtype = losses.dtype();
  Output weighted = CastTo(checked, losses, DType::kFloat);
  if (options.weights) weighted = checked.Op("Mul", {weighted, weights});
  if (!s.ok()) return {};
  const Output loss = CastTo(checked, Reduce(checked, weighted, weights, options.reduction), dtype);
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
  const Output product = s.Op("Sum", {s.Op("Mul", {p, y}), s.Constant({axis})}, {{"keep_dims", true}});
  return Weighted(s, s.Op("Sub", {Number(s, 1), product}), options);
}

Output HingeLoss(const Scope& scope, Output labels, Output logits, const Options& options) {
  const auto [s, y, x] = Enter(scope, labels, logits, options, "hinge_loss", "logits");
  const Output one = Number(s, 1);
  const Output sign = s.Op("Sub", {s.Op("Mul", {Number(s, 2), y}), one});
  return Weighted(s, s.Op("Relu", {s.Op("Sub", {one, s.Op("Mul", {sign, x})})}), options);
}

Output HuberLoss(const Scope& scope, Output labels, Output predictions, const Options& options, double delta) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "huber_loss");
  const Output error = s.Op("Abs", {s.Op("Sub", {p, y})});
  const Output limit = Number(s, delta);
  const Output quadratic = s.Op("Minimum", {error, limit});
  const Output linear = s.Op("Sub", {error, quadratic});
  const Output square = s.Op("Mul", {Number(s, 0.5), s.Op("Mul", {quadratic, quadratic})});
  return Weighted(s, s.Op("AddV2", {square, s.Op("Mul", {limit, linear})}), options);
}

Output LogLoss(const Scope& scope, Output labels, Output predictions, const Options& options, double epsilon) {
  const auto [s, y, p] = Enter(scope, labels, predictions, options, "log_loss");
  const Output one = Number(s, 1), tiny = Number(s, epsilon);
  const Output if_true = s.Op("Mul", {y, s.Op("Log", {s.Op("AddV2", {p, tiny})})});
  const Output other = s.Op("Log", {s.Op("AddV2", {s.Op("Sub", {one, p}), tiny})});
  const Output if_false = s.Op("Mul", {s.Op("Sub", {one, y}), other});
  return Weighted(s, s.Op("Sub", {s.Op("Neg", {if_true}), if_false}), options);
}

Output MeanPairwiseSquaredError(const Scope& scope, Output labels, Output predictions, const Options& options) {
  const auto [plain, y, p] = Enter(scope, labels, predictions, options, "mean_pairwise_squared_error");
  if (!plain.ok()) return {};
  const Output weights = CastTo(plain, options.weights ? options.weights : plain.Const(1.0f), DType::kFloat);
  const Scope s = plain.WithControlDependencies(AssertBroadcastable(plain, weights, y));
  const Output diffs = s.Op("Sub", {p, y}), zero = s.Const(0.0f), two = s.Const(2.0f);
  const Output axes = s.Op("Range", {s.Const<int32_t>(1), s.Op("Rank", {diffs}), s.Const<int32_t>(1)});
  const auto row_sum = [&](Output x) { return s.Op("Sum", {x, axes}, {{"keep_dims", true}}); };
  const auto over = [&](Output x, Output n) {
    return s.Op("Mul", {two, s.WithOpName("value").Op("DivNoNan", {x, s.Op("Maximum", {n, zero})})});
  };
  const Output present = NumPresent(s, diffs, weights, axes);
  const Output others = s.Op("Sub", {present, s.Const(1.0f)});
  const Output squares = over(row_sum(s.Op("Square", {diffs})), others);
  const Output square_of_sum = over(s.Op("Square", {row_sum(diffs)}), s.Op("Mul", {present, others}));
  const Output total = SumAll(s, s.Op("Mul", {s.Op("Sub", {squares, square_of_sum}), weights}));
  const Output any = s.Op("Greater", {SumAll(s, present), zero});
  const Output loss = s.WithOpName("value").Op("SelectV2", {any, total, zero});
  AddLoss(s, loss, options.collection);
  return loss;
}

Output SigmoidCrossEntropy(const Scope& scope, Output labels, Output logits, const Options& options,
                           double label_smoothing) {
  if (!Given(scope, labels, logits, "logits")) return {};
  const Scope s = EnterLoss(scope, options, "sigmoid_cross_entropy_loss");
  labels = CastTo(s, labels, logits.dtype());
  CheckPair(s, labels, logits);
  if (label_smoothing > 0) {
    labels = s.Op("Mul", {labels, s.Const(ScalarOf(logits.dtype(), 1 - label_smoothing))});
    labels = s.Op("AddV2", {labels, s.Const(ScalarOf(logits.dtype(), 0.5 * label_smoothing))});
  }
  return Weighted(s, SigmoidCrossEntropyWithLogits(s, labels, logits), options);
}

Output SoftmaxCrossEntropy(const Scope& scope, Output onehot_labels, Output logits, const Options& options,
                           double label_smoothing) {
  if (!Given(scope, onehot_labels, logits, "logits")) return {};
  const Scope s = EnterLoss(scope, options, "softmax_cross_entropy_loss");
  Output labels = CastTo(s, onehot_labels, logits.dtype());
  CheckPair(s, labels, logits);
  if (label_smoothing > 0 && s.ok()) {
    const DType dtype = logits.dtype();
    const Output sizes = s.Op("Shape", {labels});
    const Output last = s.Op("StridedSlice", {sizes, s.Constant({-1}), s.Constant({0}), s.Constant({1})},
                             {{"shrink_axis_mask", 1}, {"end_mask", 1}});
    const Output share = s.Op("RealDiv", {s.Const(ScalarOf(dtype, label_smoothing)), CastTo(s, last, dtype)});
    labels = s.Op("AddV2", {s.Op("Mul", {labels, s.Const(ScalarOf(dtype, 1 - label_smoothing))}), share});
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
  return losses.empty() ? scope.Const(0.0f) : scope.WithOpName(name).Op("AddN", losses);
}

Output GetTotalLoss(const Scope& scope, bool add_regularization_losses, absl::string_view name,
                    absl::string_view prefix) {
  std::vector<Output> losses = GetLosses(scope, prefix);
  if (add_regularization_losses) {
    const std::vector<Output> more = GetRegularizationLosses(scope, prefix);
    losses.insert(losses.end(), more.begin(), more.end());
  }
  if (losses.empty()) scope.Fail(errors::InvalidArgument("There are no losses to add"));
  return scope.ok() ? scope.WithOpName(name).Op("AddN", losses) : Output();
}

}  // namespace millstream::losses
