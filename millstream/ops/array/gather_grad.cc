// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/gather_grad.h"

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

Output Join(const GradContext& g, std::vector<Output> parts) {
  parts.push_back(g.scope().Const(0));
  return g.Op("ConcatV2", std::move(parts));
}

// The product of `vector` in [begin, begin + size), as a vector of one element; begin and size are such vectors too.
Output ProductOf(const GradContext& g, Output vector, Output begin, Output size) {
  return g.Op("Prod", {g.Op("Slice", {vector, begin, size}), ConstInts(g, {0})}, {{"keep_dims", true}});
}

Output IndicesForSegments(const GradContext& g) {
  const Output indices = g.input(1);
  return indices.dtype() == DType::kInt16 ? g.Op("Cast", {indices}, {{"DstT", DType::kInt32}}) : indices;
}

void SparseGrad(GradContext& g) {
  const Output shape = ShapeOf(g, g.input(0));
  const Output indices = g.Op("Reshape", {IndicesForSegments(g), ConstInts(g, {-1})});
  const PartialShape params = g.scope().ShapeOf(g.input(0));
  Output values_shape;
  if (params.IsFullyDefined() && params.rank() > 0 && params.num_elements() > 0) {
    std::vector<int64_t> dims = params.dims();
    dims[0] = -1;
    values_shape = ConstInts(g, dims);
  } else {
    const Output rows = g.Op("ExpandDims", {g.Op("Size", {g.input(1)}), g.scope().Const(0)});
    values_shape = Join(g, {rows, g.Op("Slice", {shape, ConstInts(g, {1}), ConstInts(g, {-1})})});
  }
  g.set_dx(0, Grad::Slices(g.Op("Reshape", {g.dy(0), values_shape}), indices, shape));
}

// dy seen as [batch, outer, n, inner]; what belongs to one slice of params is summed along n. `axis` is a vector with
// the axis, which is >= batch_dims.
void SegmentGrad(GradContext& g, Output axis, int64_t batch_dims) {
  const Output shape = ShapeOf(g, g.input(0)), indices_shape = ShapeOf(g, g.input(1));
  const Output zero = ConstInts(g, {0}), one = ConstInts(g, {1}), rest = ConstInts(g, {-1});
  const Output b = ConstInts(g, {batch_dims});
  const Output batch = ProductOf(g, shape, zero, b);
  const Output outer = ProductOf(g, shape, b, g.Op("Sub", {axis, b}));
  const Output limit = g.Op("Slice", {shape, axis, one});
  const Output inner = ProductOf(g, shape, g.Op("AddV2", {axis, one}), rest);
  const Output n = ProductOf(g, indices_shape, b, rest);
  const Output swap = g.scope().Constant({0, 2, 1, 3});

  Output values = g.Op("Reshape", {g.dy(0), Join(g, {batch, outer, n, inner})});
  values = g.Op("Reshape",
                {g.Op("Transpose", {values, swap}), Join(g, {g.Op("Mul", {batch, n}), g.Op("Mul", {outer, inner})})});

  Output ids = g.Op("Reshape", {IndicesForSegments(g), Join(g, {batch, n})});
  if (!g.status().ok()) return;
  const Output scalar = ConstInts(g, {});
  Output first = g.Op("Range", {g.scope().Const(0), g.Op("Reshape", {batch, scalar}), g.scope().Const(1)});
  first = g.Op("ExpandDims", {g.Op("Mul", {first, limit}), g.scope().Const(1)});
  if (ids.dtype() != DType::kInt32) first = g.Op("Cast", {first}, {{"DstT", ids.dtype()}});
  ids = g.Op("Reshape", {g.Op("AddV2", {ids, first}), ConstInts(g, {-1})});

  const Output total = g.Op("Reshape", {g.Op("Mul", {batch, limit}), scalar});
  Output dx = g.Op("UnsortedSegmentSum", {values, ids, total});
  dx = g.Op("Transpose", {g.Op("Reshape", {dx, Join(g, {batch, limit, outer, inner})}), swap});
  g.set_dx(0, g.Op("Reshape", {dx, shape}));
}

}  // namespace

Status GatherGrad(GradContext& g) {
  SparseGrad(g);
  return g.status();
}

Status GatherV2Grad(GradContext& g) {
  int64_t batch_dims = g.Attr<int64_t>("batch_dims");
  if (batch_dims < 0) {
    const PartialShape indices = g.scope().ShapeOf(g.input(1));
    if (!indices.rank_known()) return errors::InvalidArgument("negative batch_dims needs indices of known rank");
    batch_dims += indices.rank();
  }
  Tensor value;
  int64_t axis = 0;
  const bool known = g.scope().ConstantValue(g.input(2), &value) && ReadIntScalar(value, "axis", &axis).ok();
  const PartialShape params = g.scope().ShapeOf(g.input(0));
  if (known && axis < 0 && params.rank_known()) axis += params.rank();
  if (known && axis == 0 && batch_dims == 0) {
    SparseGrad(g);
    return g.status();
  }
  Output axis_vector = ConstInts(g, {axis});
  if (!known || axis < 0) {
    Output dynamic = g.input(2);
    if (dynamic.dtype() != DType::kInt32) dynamic = g.Op("Cast", {dynamic}, {{"DstT", DType::kInt32}});
    dynamic = g.Op("FloorMod", {dynamic, g.Op("Rank", {g.input(0)})});
    axis_vector = g.Op("Reshape", {dynamic, ConstInts(g, {1})});
  }
  SegmentGrad(g, axis_vector, batch_dims);
  return g.status();
}

}  // namespace millstream
