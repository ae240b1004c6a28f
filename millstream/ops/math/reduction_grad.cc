// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/reduction.h"

namespace millstream {

Output ReplaceReduced(GradContext& g, Output values, int32_t reduced) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output rank = g.Op("Size", {values});
  Output axes = g.input(1);
  if (axes.dtype() != DType::kInt32) axes = g.Op("Cast", {axes}, {{"DstT", DType::kInt32}});
  axes = g.Op("Reshape", {axes, s.Constant({-1})});
  axes = g.Op("FloorMod", {m.Add(axes, rank), rank});
  const Output all = g.Op("Range", {s.Const(int32_t{0}), rank, s.Const(int32_t{1})});
  const Output replacement = g.Op(reduced == 0 ? "ZerosLike" : "OnesLike", {axes});
  return g.Op("DynamicStitch", {all, axes, values, replacement}, {{"N", 2}});
}

Output WithReducedDims(GradContext& g, Output y) {
  if (g.Attr<bool>("keep_dims")) return y;
  const PartialShape in = g.scope().ShapeOf(g.input(0));
  Tensor axes;
  std::vector<bool> reduced;
  if (!in.rank_known() || !g.scope().ConstantValue(g.input(1), &axes) || !ReadAxes(axes, in.rank(), &reduced).ok()) {
    return g.Op("Reshape", {y, ReplaceReduced(g, g.Op("Shape", {g.input(0)}), 1)});
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

namespace {

// A constant where the graph knows the shape: what was reduced is then not computed for the sake of its shape alone.
Output ShapeOfInput(GradContext& g) {
  const PartialShape in = g.scope().ShapeOf(g.input(0));
  if (in.IsFullyDefined() &&
      std::all_of(in.dims().begin(), in.dims().end(), [](int64_t d) { return d <= INT32_MAX; })) {
    return g.scope().Const(Tensor::Vector(std::vector<int32_t>(in.dims().begin(), in.dims().end())));
  }
  return g.Op("Shape", {g.input(0)});
}

}  // namespace

Output BroadcastToInput(GradContext& g, Output y) { return g.Op("BroadcastTo", {y, ShapeOfInput(g)}); }

}  // namespace millstream
