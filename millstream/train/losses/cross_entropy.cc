// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/cross_entropy.h"

#include "millstream/graph/gradients/gradient.h"
#include "millstream/train/variables/variables.h"

namespace millstream {
namespace {

// Logits as a matrix of at least single precision.
Output Rows(const Scope& s, Output x) {
  if (x.dtype() == DType::kHalf || x.dtype() == DType::kBfloat16) x = CastTo(s, x, DType::kFloat);
  if (s.ShapeOf(x).rank() == 2) return x;
  const Output sizes = s.Op("Shape", {x});
  const Output classes =
      s.Op("StridedSlice", {sizes, s.Constant({-1}), s.Constant({0}), s.Constant({1})}, {{"end_mask", 1}});
  return s.Op("Reshape", {x, s.Op("ConcatV2", {s.Constant({-1}), classes, s.Const<int32_t>(0)})});
}

// A cost of each row, in the shape and type that the logits ask for.
Output Shaped(const Scope& s, Output cost, Output logits) {
  if (s.ShapeOf(logits).rank() != 2) {
    const Output sizes =
        s.Op("StridedSlice", {s.Op("Shape", {logits}), s.Constant({0}), s.Constant({-1}), s.Constant({1})},
             {{"begin_mask", 1}});
    cost = s.Op("Reshape", {cost, sizes});
  }
  return CastTo(s, cost, logits.dtype());
}

}  // namespace

Output SigmoidCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("xentropy");
  // Selected rather than Relu and Abs, whose gradients at 0 are 0.
  const Output zeros = ZerosFor(s, logits);
  const Output positive = s.Op("GreaterEqual", {logits, zeros});
  const Output at_least_zero = s.Op("SelectV2", {positive, logits, zeros});
  const Output at_most_zero = s.Op("SelectV2", {positive, s.Op("Neg", {logits}), logits});
  return s.WithOpName(s.name_prefix())
      .Op("AddV2",
          {s.Op("Sub", {at_least_zero, s.Op("Mul", {logits, labels})}), s.Op("Log1p", {s.Op("Exp", {at_most_zero})})});
}

Output SoftmaxCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("xentropy");
  const Output cost = s.Op("SoftmaxCrossEntropyWithLogits", {Rows(s, logits), Rows(s, labels)});
  return s.ok() ? Shaped(s, cost, logits) : Output();
}

Output SparseSoftmaxCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("xentropy");
  const int of_labels = s.ShapeOf(labels).rank(), of_logits = s.ShapeOf(logits).rank();
  if (of_labels >= 0 && of_logits >= 0 && of_labels != of_logits - 1) {
    s.Fail(errors::InvalidArgument(
        "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape=", s.ShapeOf(labels).ToString(),
        " of rank ", of_labels, " and logits.shape=", s.ShapeOf(logits).ToString(), " of rank ", of_logits));
    return {};
  }
  const Output flat = of_labels == 1 && of_logits == 2 ? labels : s.Op("Reshape", {labels, s.Constant({-1})});
  const Output cost = s.Op("SparseSoftmaxCrossEntropyWithLogits", {Rows(s, logits), flat});
  return s.ok() ? Shaped(s, cost, logits) : Output();
}

}  // namespace millstream
