// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/losses/cross_entropy.h"

#include "millstream/train/operators/operators.h"

namespace millstream {
namespace {

bool IsHalf(Output x) { return x.dtype() == DType::kHalf || x.dtype() == DType::kBfloat16; }

// Of at least single precision.
Output Precise(const Scope& s, Output x) { return IsHalf(x) ? CastTo(s, x, DType::kFloat) : x; }

// As a matrix.
Output Rows(const Scope& s, Output x) {
  const PartialShape shape = s.ShapeOf(x);
  if (!s.ok() || shape.rank() == 2) return x;
  const int64_t classes = shape.rank() > 0 ? shape.dim(shape.rank() - 1) : -1;
  if (classes >= 0) return OpNamed(s, "", "Reshape", {x, std::vector<int32_t>{-1, static_cast<int32_t>(classes)}});
  const Output last = operators::Last(s, operators::ShapeOf(s, x));
  const Scope reshape = s.NameScope("Reshape");
  const Output sizes = reshape.WithOpName("shape").Op("Pack", {reshape.WithOpName("shape/0").Const<int32_t>(-1), last});
  return reshape.WithOpName(reshape.name_prefix()).Op("Reshape", {x, sizes});
}

}  // namespace

Output SigmoidCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits) {
  using namespace operators;  // NOLINT(google-build-using-namespace)
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("xentropy");
  // Selected rather than Relu and Abs, whose gradients at 0 are 0.
  const Output zeros = ZerosLike(s, logits);
  const Output positive = s.Op("GreaterEqual", {logits, zeros});
  const Output at_least_zero = s.Op("Select", {positive, logits, zeros});
  const Output at_most_zero = s.Op("Select", {positive, s.Op("Neg", {logits}), logits});
  const Output linear = Sub(s, at_least_zero, Mul(s, logits, labels));
  return s.WithOpName(s.name_prefix()).Op("AddV2", {linear, s.Op("Log1p", {s.Op("Exp", {at_most_zero})})});
}

Output SoftmaxCrossEntropyWithLogits(const Scope& scope, Output labels, Output logits) {
  if (!scope.ok()) return {};
  const Scope s = scope.NameScope("xentropy");
  const Output precise = Precise(s, logits), own = CastTo(s, labels, precise.dtype());
  const bool matrix = s.ShapeOf(logits).rank() == 2;
  const Output sizes = matrix ? Output() : operators::ShapeOf(s, precise);
  const Output rows = Rows(s, precise);
  Output cost = s.WithOpName(s.name_prefix()).Op("SoftmaxCrossEntropyWithLogits", {rows, Rows(s, own)});
  if (!matrix) cost = s.Op("Reshape", {cost, operators::AllButLast(s, sizes)});
  return s.ok() ? CastTo(s, cost, logits.dtype()) : Output();
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
  const Output precise = Precise(s, logits);
  const Scope named = s.WithOpName("xentropy");
  if (of_logits == 2) {
    const Output cost = named.Op("SparseSoftmaxCrossEntropyWithLogits", {precise, labels});
    return s.ok() ? CastTo(s, cost, logits.dtype()) : Output();
  }
  const Output sizes = operators::ShapeOf(s, labels), rows = Rows(s, precise);
  const Output flat = OpNamed(s, "", "Reshape", {labels, std::vector<int32_t>{-1}});
  const Output cost = s.Op("Reshape", {named.Op("SparseSoftmaxCrossEntropyWithLogits", {rows, flat}), sizes});
  return s.ok() ? CastTo(s, cost, logits.dtype()) : Output();
}

}  // namespace millstream
