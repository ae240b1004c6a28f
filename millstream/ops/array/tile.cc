// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/strided_copy.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

Status TileCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  Dims multiples;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "Expected multiples", &multiples));
  if (static_cast<int>(multiples.size()) != in.rank()) {
    return errors::InvalidArgument("Expected multiples argument to be a vector of length ", in.rank(),
                                   " but got length ", multiples.size());
  }
  Dims dims;
  bool same = true;
  for (int d = 0; d < in.rank(); ++d) {
    int64_t size = 0;
    if (multiples[d] < 0) return errors::InvalidArgument("Expected multiples[", d, "] >= 0, but got ", multiples[d]);
    if (__builtin_mul_overflow(in.dim(d), multiples[d], &size)) {
      return errors::InvalidArgument("multiples[", d, "] = ", multiples[d], " is too large");
    }
    same &= multiples[d] == 1;
    dims.push_back(size);
  }
  if (same) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  StridedCopy copy;
  int64_t from_step = in.num_elements(), to_step = shape.num_elements();
  for (int d = 0; d < in.rank(); ++d) {
    from_step /= in.dim(d);
    to_step /= multiples[d];
    copy.Add(multiples[d], 0, to_step);
    to_step /= in.dim(d);
    copy.Add(in.dim(d), from_step, to_step);
  }
  copy.Run(ctx, in.dtype(), in.raw(), out->raw());
  return OkStatus();
}

Status TileShape(ShapeContext& c) {
  PartialShape in = c.input(0);
  ASSIGN_OR_RETURN(const PartialShape multiples, c.ConstantAsShape(1));
  if (!in.rank_known() && multiples.rank_known()) in = PartialShape::UnknownOfRank(multiples.rank());
  if (!in.rank_known()) return OkStatus();
  if (!multiples.rank_known()) {
    c.set_output(0, PartialShape::UnknownOfRank(in.rank()));
    return OkStatus();
  }
  if (in.rank() != multiples.rank()) {
    return errors::InvalidArgument("Shape must be rank ", multiples.rank(), " but is rank ", in.rank());
  }
  std::vector<int64_t> dims;
  for (int d = 0; d < in.rank(); ++d) {
    const int64_t size = in.dim(d), multiple = multiples.dim(d);
    int64_t product = -1;
    if (size == 0 || multiple == 0)
      product = 0;
    else if (size > 0 && multiple > 0 && __builtin_mul_overflow(size, multiple, &product)) {
      return errors::InvalidArgument("multiples[", d, "] = ", multiple, " is too large");
    }
    dims.push_back(product);
  }
  ASSIGN_OR_RETURN(PartialShape out, PartialShape::Make(std::move(dims)));
  c.set_output(0, std::move(out));
  return OkStatus();
}

// dy as [m0, d0, m1, d1, ...], summed over the repetitions.
Status TileGrad(GradContext& g) {
  const Output multiples = g.input(1);
  const Output shape = ShapeOf(g, g.input(0), multiples.dtype());
  const PartialShape static_shape = g.scope().ShapeOf(g.input(0));
  const Output flat = g.scope().Constant({-1});
  const Output split_shape = g.Op("Reshape", {g.Op("Pack", {multiples, shape}, {{"axis", 1}}), flat});
  Output axes;
  if (static_shape.rank_known()) {
    std::vector<int64_t> even;
    for (int d = 0; d < static_shape.rank(); ++d) even.push_back(2 * d);
    axes = ConstInts(g, even);
  } else {
    axes = g.Op("Range", {g.scope().Const(0), g.Op("Size", {split_shape}), g.scope().Const(2)});
  }
  Output dx = g.Op("Sum", {g.Op("Reshape", {g.dy(0), split_shape}), axes});
  // Gives back the static shape that the sum over a computed shape lost.
  if (static_shape.rank_known()) dx = g.Op("Reshape", {dx, shape});
  g.set_dx(0, dx);
  return OkStatus();
}

OP("Tile")
    .Input("input: T")
    .Input("multiples: Tmultiples")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tmultiples: {int32, int64} = DT_INT32")
    .Shape(TileShape)
    .Gradient(TileGrad)
    .Cpu(TileCpu)
    .HostMemory("multiples")
    .Doc("Repeats a tensor along each dimension.");

}  // namespace
}  // namespace millstream
