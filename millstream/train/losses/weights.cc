// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/weights.h"

#include <numeric>

#include "millstream/graph/control_flow/control_flow_builders.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/variables/variables.h"

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
  const Output w = s.Op("Shape", {weights}), v = s.Op("Shape", {values});
  const Output same = s.Op("Equal", {s.Op("Rank", {weights}), s.Op("Rank", {values})});
  const std::vector<Output> fits = Cond(
      s, same,
      [&](const Scope& in) {
        const Output sizes = in.Op("LogicalOr", {in.Op("Equal", {w, in.Const<int32_t>(1)}), in.Op("Equal", {w, v})});
        return std::vector<Output>{in.Op("All", {sizes, in.Constant({0})})};
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

Output AllAxes(const Scope& s, Output x) {
  const int rank = s.ShapeOf(x).rank();
  if (rank < 0) return s.Op("Range", {s.Const<int32_t>(0), s.Op("Rank", {x}), s.Const<int32_t>(1)});
  std::vector<int32_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return s.Const(Tensor::Vector(axes));
}

}  // namespace

std::vector<Node*> AssertBroadcastable(const Scope& scope, Output weights, Output values) {
  if (!scope.ok()) return {};
  const PartialShape w = scope.ShapeOf(weights), v = scope.ShapeOf(values);
  if (w.rank() == 0) return {};
  if (w.rank_known() && v.rank_known()) {
    if (!MayFit(scope, w, v) || (w.IsFullyDefined() && v.IsFullyDefined())) return {};
  }
  const Scope s = scope.NameScope("assert_broadcastable");
  const Output scalar = s.Op("Equal", {s.Op("Rank", {weights}), s.Const<int32_t>(0)});
  const Output fits = s.Op("LogicalOr", {scalar, SameRankAndSizes(s, weights, values)});
  const auto text = [&s](const char* words) { return s.Const(Tensor::Scalar(std::string(words))); };
  Node* check = s.Add("Assert", {fits, text(kMisfit), text("weights.shape="), s.Op("Shape", {weights}),
                                 text("values.shape="), s.Op("Shape", {values})});
  return check == nullptr ? std::vector<Node*>() : std::vector<Node*>{check};
}

Output BroadcastWeights(const Scope& scope, Output weights, Output values) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("broadcast_weights");
  weights = CastTo(s, weights, values.dtype());
  const PartialShape w = s.ShapeOf(weights);
  if (w.IsFullyDefined() && w == s.ShapeOf(values)) return weights;
  const Scope checked = s.WithControlDependencies(AssertBroadcastable(s, weights, values));
  return checked.WithOpName(s.name_prefix()).Op("Mul", {weights, OnesFor(s, values)});
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
  const Output diff = s.Op("Sub", {s.Op("Rank", {*predictions}), s.Op("Rank", {*labels})});
  const auto is = [&](int expected) { return s.Op("Equal", {diff, s.Const<int32_t>(expected)}); };
  if (MayBeOne(of_predictions)) *predictions = SqueezeIf(s, is(expected_rank_diff + 1), *predictions);
  if (MayBeOne(of_labels)) *labels = SqueezeIf(s, is(expected_rank_diff - 1), *labels);
}

Output SumAll(const Scope& scope, Output x) { return scope.ok() ? scope.Op("Sum", {x, AllAxes(scope, x)}) : Output(); }
Output MeanAll(const Scope& scope, Output x) {
  return scope.ok() ? scope.Op("Mean", {x, AllAxes(scope, x)}) : Output();
}

}  // namespace millstream
