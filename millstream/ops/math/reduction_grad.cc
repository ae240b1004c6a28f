// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/gradients.h"
#include "millstream/ops/math/reduction.h"

namespace millstream {
namespace {

// The shape of the input with 1 in place of the reduced sizes, computed when the step runs.
Output KeptShape(GradContext& g) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output shape = m.Shape(g.input(0));
  const Output rank = g.Op("Size", {shape});
  Output axes = g.input(1);
  if (axes.dtype() != DType::kInt32) axes = g.Op("Cast", {axes}, {{"DstT", DType::kInt32}});
  axes = g.Op("Reshape", {axes, s.Constant({-1})});
  axes = g.Op("FloorMod", {m.Add(axes, rank), rank});
  const Output all = g.Op("Range", {s.Const(int32_t{0}), rank, s.Const(int32_t{1})});
  return g.Op("DynamicStitch", {all, axes, shape, g.Op("OnesLike", {axes})}, {{"N", 2}});
}

}  // namespace

Output WithReducedDims(GradContext& g, Output y) {
  if (g.Attr<bool>("keep_dims")) return y;
  const PartialShape in = g.scope().ShapeOf(g.input(0));
  Tensor axes;
  std::vector<bool> reduced;
  if (!in.rank_known() || !g.scope().ConstantValue(g.input(1), &axes) || !ReadAxes(axes, in.rank(), &reduced).ok()) {
    return g.Op("Reshape", {y, KeptShape(g)});
  }
  // Broadcasting supplies leading dimensions by itself.
  int leading = 0;
  while (leading < in.rank() && reduced[leading]) ++leading;
  std::vector<int64_t> dims;
  bool needed = false;
  for (int i = leading; i < in.rank(); ++i) {
    needed = needed || reduced[i];
    dims.push_back(reduced[i] ? 1 : in.dim(i));
  }
  if (!needed) return y;
  int unknown = 0;
  std::vector<int32_t> sizes;
  for (const int64_t d : dims) {
    unknown += d < 0 ? 1 : 0;
    sizes.push_back(static_cast<int32_t>(d));
  }
  // With one unknown size Reshape works it out.
  bool fits = unknown <= 1;
  for (const int64_t d : dims) fits = fits && d <= INT32_MAX && (d != 0 || unknown == 0);
  if (fits) return g.Op("Reshape", {y, g.scope().Const(Tensor::Vector<int32_t>(sizes))});
  for (int i = leading; i < in.rank(); ++i) {
    if (reduced[i]) y = g.Op("ExpandDims", {y, g.scope().Const(static_cast<int32_t>(i - leading))});
  }
  return y;
}

Output BroadcastToInput(GradContext& g, Output y) {
  return g.Op("BroadcastTo", {y, g.Op("Shape", {g.input(0)})});
}

}  // namespace millstream
