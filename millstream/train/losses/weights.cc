// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/weights.h"

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

constexpr char kMisfit[] = "weights can not be broadcast to values.";

// False, with an error in the scope, if they cannot fit.
bool MayFit(const Scope& s, const PartialShape& weights, const PartialShape& values) {
  const std::string shapes = absl::StrCat(" values.shape=", values.ToString(), " weights.shape=", weights.ToString());
  if (weights.rank() != values.rank()) {
    s.Fail(errors::InvalidArgument(kMisfit, " values.rank=", values.rank(), ". weights.rank=", weights.rank(), ".",
                                   shapes));
    return false;
  }
  for (int i = 0; i < weights.rank(); ++i) {
    if (weights.dim(i) >= 0 && values.dim(i) >= 0 && weights.dim(i) != 1 && weights.dim(i) != values.dim(i)) {
      s.Fail(errors::InvalidArgument(kMisfit, " Mismatch at dim ", i, ".", shapes));
      return false;
    }
  }
  return true;
}

Output SameRankAndSizes(const Scope& s, Output weights, Output values) {
  const Output w = operators::ShapeOf(s, weights), v = operators::ShapeOf(s, values);
  const Output rank = s.Op("Rank", {weights}), same = s.Op("Equal", {rank, s.Op("Rank", {values})});
  const std::vector<Output> fits = Cond(
      s, same,
      [&](const Scope& in) {
        const Output one = OpNamed(in, "", "Equal", {w, 1});
        const Output sizes = in.Op("LogicalOr", {one, in.Op("Equal", {w, v})});
        return std::vector<Output>{operators::ReduceAll(in, "All", sizes)};
      },
      [&](const Scope& in) { return std::vector<Output>{in.Const(Tensor::Scalar(false))}; });
  return fits.empty() ? Output() : fits[0];
}

bool MayBeOne(const PartialShape& shape) {
  return shape.rank() < 0 ||
         (shape.rank() > 0 && (shape.dim(shape.rank() - 1) == 1 || shape.dim(shape.rank() - 1) < 0));
}

Output SqueezeIf(const Scope& s, Output pred, Output x) {
  const std::vector<Output> y = Cond(
      s, pred, [&](const Scope& in) { return std::vector<Output>{SqueezeLast(in, x)}; },
      [&](const Scope& in) { return std::vector<Output>{in.Op("Identity", {x})}; });
  return y.empty() ? Output() : y[0];
}

}  // namespace

std::vector<Node*> AssertBroadcastable(const Scope& scope, Output weights, Output values) {
  if (!scope.ok()) return {};
  const PartialShape w = scope.ShapeOf(weights), v = scope.ShapeOf(values);
  if (w.rank() == 0) return {};
  if (w.rank_known() && v.rank_known()) {
    if (!MayFit(scope, w, v) || (w.IsFullyDefined() && v.IsFullyDefined())) return {};
  }
  const Output scalar = OpNamed(scope, "", "Equal", {scope.Op("Rank", {weights}), 0});
  const Output fits = scope.Op("LogicalOr", {scalar, SameRankAndSizes(scope, weights, values)});
  const Output w_sizes = operators::ShapeOf(scope, weights), v_sizes = operators::ShapeOf(scope, values);
  const Scope s = scope.NameScope("Assert");
  const auto text = [&s](const char* words) { return s.Const(Tensor::Scalar(std::string(words))); };
  Node* check = s.Add("Assert", {fits, text(kMisfit), text("weights.shape="), w_sizes, text("values.shape="), v_sizes});
  return check == nullptr ? std::vector<Node*>() : std::vector<Node*>{check};
}

Output BroadcastWeights(const Scope& scope, Output weights, Output values) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("broadcast_weights");
  weights = CastTo(s, weights, values.dtype());
  const PartialShape w = s.ShapeOf(weights);
  if (w.IsFullyDefined() && w == s.ShapeOf(values)) return weights;
  const Scope checked = s.WithControlDependencies(AssertBroadcastable(s, weights, values));
  return checked.WithOpName(s.name_prefix()).Op("Mul", {weights, operators::OnesLike(checked, values)});
}

Output SqueezeLast(const Scope& scope, Output x) {
  return scope.Op("Squeeze", {x}, {{"squeeze_dims", std::vector<int64_t>{-1}}});
}

void RemoveSqueezableDimensions(const Scope& scope, Output* labels, Output* predictions, int expected_rank_diff) {
  if (!scope.ok()) return;
  const Scope s = scope.NameScope("remove_squeezable_dimensions");
  const PartialShape of_labels = s.ShapeOf(*labels), of_predictions = s.ShapeOf(*predictions);
  if (of_labels.rank_known() && of_predictions.rank_known()) {
    const int diff = of_predictions.rank() - of_labels.rank();
    if (diff == expected_rank_diff + 1 && MayBeOne(of_predictions)) *predictions = SqueezeLast(s, *predictions);
    if (diff == expected_rank_diff - 1 && MayBeOne(of_labels)) *labels = SqueezeLast(s, *labels);
    return;
  }
  const Output rank = s.Op("Rank", {*predictions}), diff = operators::Sub(s, rank, s.Op("Rank", {*labels}));
  const auto is = [&](int expected) { return OpNamed(s, "", "Equal", {expected, diff}); };
  if (MayBeOne(of_predictions)) *predictions = SqueezeIf(s, is(expected_rank_diff + 1), *predictions);
  if (MayBeOne(of_labels)) *labels = SqueezeIf(s, is(expected_rank_diff - 1), *labels);
}

Output SumAll(const Scope& scope, Output x) { return operators::ReduceAll(scope, "Sum", x); }
Output MeanAll(const Scope& scope, Output x) { return operators::ReduceAll(scope, "Mean", x); }

}  // namespace millstream
