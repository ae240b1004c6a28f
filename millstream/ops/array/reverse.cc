// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {
namespace {

using Flags = absl::InlinedVector<bool, 8>;

Status ReverseAlong(KernelContext& ctx, const Flags& reversed) {
  const Tensor& in = ctx.input(0);
  bool same = true;
  for (int d = 0; d < in.rank(); ++d) same &= !reversed[d] || in.dim(d) <= 1;
  if (same) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  StridedCopy copy;
  int64_t step = in.num_elements(), first = 0;
  for (int d = 0; d < in.rank(); ++d) {
    step /= in.dim(d);
    copy.Add(in.dim(d), reversed[d] ? -step : step, step);
    if (reversed[d]) first += (in.dim(d) - 1) * step;
  }
  copy.Run(ctx, in.dtype(), ElementAt(in, first), out->raw());
  return OkStatus();
}

Status ReverseCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  const Tensor& dims = ctx.input(1);
  if (dims.rank() != 1 || dims.num_elements() != in.rank()) {
    return errors::InvalidArgument("'dims' must be a vector of length ", in.rank(), ", got shape ",
                                   dims.shape().ToString());
  }
  const auto values = dims.flat<bool>();
  return ReverseAlong(ctx, Flags(values.begin(), values.end()));
}

Status ReverseV2Cpu(KernelContext& ctx) {
  const int rank = ctx.input(0).rank();
  Dims axes;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "'axis'", &axes));
  Flags reversed(rank, false);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) {
      return errors::InvalidArgument("'axis'[", i, "] = ", axes[i], " is out of valid range [", -rank, ", ", rank - 1,
                                     "]");
    }
    if (reversed[axis]) return errors::InvalidArgument("axis ", axis, " specified more than once.");
    reversed[axis] = true;
  }
  return ReverseAlong(ctx, reversed);
}

Status ReverseShape(ShapeContext& c) {
  PartialShape dims;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &dims));
  if (!c.input(0).rank_known() && dims.dim(0) >= 0 && dims.dim(0) <= kMaxRank) {
    c.set_output(0, PartialShape::UnknownOfRank(static_cast<int>(dims.dim(0))));
    return OkStatus();
  }
  int64_t rank = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(dims.dim(0), c.input(0).rank(), &rank));
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status ReverseV2Shape(ShapeContext& c) {
  PartialShape axes;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &axes));
  std::vector<int64_t> values;
  const int rank = c.input(0).rank();
  if (rank >= 0 && c.ConstantInts(1, &values)) {
    for (const int64_t axis : values) {
      int normal = 0;
      RETURN_IF_ERROR(NormalizeAxis(axis, "axis", rank, &normal));
    }
  }
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status ReverseGrad(GradContext& g) {
  g.set_dx(0, g.Op(g.node().type(), {g.dy(0), g.input(1)}));
  return OkStatus();
}

OP("Reverse")
    .Input("tensor: T")
    .Input("dims: bool")
    .Output("output: T")
    .Attr(
        "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, complex64, "
        "complex128, string}")
    .Shape(ReverseShape)
    .Gradient(ReverseGrad)
    .Cpu(ReverseCpu)
    .HostMemory("dims")
    .Doc("Reverses the dimensions that are marked true.");

OP("ReverseV2")
    .Input("tensor: T")
    .Input("axis: Tidx")
    .Output("output: T")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Attr(
        "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, complex64, "
        "complex128, string}")
    .Shape(ReverseV2Shape)
    .Gradient(ReverseGrad)
    .Cpu(ReverseV2Cpu)
    .HostMemory("axis")
    .Doc("Reverses the given dimensions.");

}  // namespace
}  // namespace millstream
