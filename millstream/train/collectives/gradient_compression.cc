// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/collectives/gradient_compression.h"

#include <algorithm>
#include <cmath>

#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

// How many entries of a gradient travel; 0: all numbers without indices are smaller.
int64_t NumSent(const GradientCompression& compression, int64_t size, int workers) {
  const auto sent =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(compression.ratio * static_cast<double>(size))));
  return 2 * sent * workers < size ? sent : 0;
}

GraphVariable MakeResidual(const Scope& scope, const GraphVariable& variable, Output gradient, int64_t size,
                           const std::string& name) {
  VariableOptions own;
  own.dtype = gradient.dtype();
  own.initializer = ZerosInitializer();
  own.trainable = false;
  own.collections = {graph_keys::kLocalVariables};
  const std::string full =
      scope.NameScope("").UniqueName(absl::StrCat(variable.handle.node->name(), "/", name, "/residual"));
  return MakeVariable(scope.ColocateWith(gradient.node), full, Shape({size}), own);
}

// What is left of a gradient after the entries with the largest absolute values were sent is added to the next one: no
// part of a gradient is lost, it only comes later.
Output TopKMean(const Scope& scope, CollectiveGroup& group, const GraphVariable& residual, Output gradient,
                int64_t sent) {
  const Scope s = scope.NameScope("top_k");
  const PartialShape shape = s.ShapeOf(gradient);
  const Output flat = s.Op("Reshape", {gradient, s.WithOpName("flat").Const(Tensor::Vector<int32_t>({-1}))});
  const Output sum = s.Op("AddV2", {flat, residual.value});
  const Output k = s.WithOpName("k").Const(static_cast<int32_t>(sent));
  Node* const top = s.Add("TopKV2", {s.Op("Abs", {sum}), k}, {{"sorted", false}});
  if (top == nullptr) return {};
  const Output indices(top, 1);
  const Output values = s.Op("GatherV2", {sum, indices, s.WithOpName("axis").Const<int32_t>(0)});
  const Output last = s.WithOpName("last").Const<int32_t>(-1);
  const Output rest = s.Op("TensorScatterSub", {sum, s.Op("ExpandDims", {indices, last}), values});
  if (!s.ok()) return {};
  Node* const keep = AssignVariable(s, residual, rest).node;
  const Output all_values = group.Gather(s, values);
  const Output all_indices = s.Op("ExpandDims", {group.Gather(s, indices), last});
  const Output count = s.WithOpName("workers").Const(ScalarOf(gradient.dtype(), group.size()));
  const Output size = s.WithOpName("size").Const(Tensor::Vector<int32_t>({static_cast<int32_t>(shape.num_elements())}));
  const Output mean = s.Op("ScatterNd", {all_indices, s.Op("RealDiv", {all_values, count}), size});
  std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
  const Output whole = s.WithOpName("shape").Const(Tensor::Vector<int32_t>(dims));
  return s.WithControlDependencies({keep}).WithOpName("mean").Op("Reshape", {mean, whole});
}

}  // namespace

Output CompressedMean(const Scope& scope, CollectiveGroup& group, const GradientCompression& compression,
                      const GraphVariable& variable, Output gradient, const std::string& name) {
  if (!scope.ok()) return {};
  using Kind = GradientCompression::Kind;
  const DType dtype = gradient.dtype();
  const bool wide = dtype == DType::kFloat || dtype == DType::kDouble;
  if (wide && (compression.kind == Kind::kHalf || compression.kind == Kind::kBfloat16)) {
    const DType narrow = compression.kind == Kind::kHalf ? DType::kHalf : DType::kBfloat16;
    return CastTo(scope, group.Mean(scope, CastTo(scope, gradient, narrow)), dtype);
  }
  const PartialShape shape = scope.ShapeOf(gradient);
  if (compression.kind != Kind::kTopK || !wide || !shape.IsFullyDefined()) return group.Mean(scope, gradient);
  if (!(compression.ratio > 0 && compression.ratio <= 1)) {
    scope.Fail(errors::InvalidArgument("The share of gradients that is sent must be above 0 and at most 1: ",
                                       compression.ratio));
    return {};
  }
  const int64_t size = shape.num_elements(), sent = NumSent(compression, size, group.size());
  if (sent == 0 || size > INT32_MAX) return group.Mean(scope, gradient);
  return TopKMean(scope, group, MakeResidual(scope, variable, gradient, size, name), gradient, sent);
}

}  // namespace millstream
