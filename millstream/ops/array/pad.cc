// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/paddings.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/strided_copy.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

Status FillWith(const KernelContext& ctx, const Tensor& value, Tensor* out) {
  if (value.num_elements() != 1) {
    return errors::InvalidArgument("constant_values must be a scalar. Found: ", value.shape().ToString());
  }
  DispatchBlob(out->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    ParallelFill(ctx, *BlobData<T>(value), out->num_elements(), BlobData<T>(out));
  });
  return OkStatus();
}

// Pad, or PadV2 with the value in input 2.
Status PadCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  Paddings paddings;
  RETURN_IF_ERROR(ReadPaddings(ctx.input(1), in.rank(), &paddings));
  ASSIGN_OR_RETURN(const Shape shape, PaddedShape(in.shape(), paddings));
  if (shape == in.shape()) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (ctx.num_inputs() > 2)
    RETURN_IF_ERROR(FillWith(ctx, ctx.input(2), out));
  else
    FillZero(ctx, out);
  if (in.num_elements() == 0) return OkStatus();
  StridedCopy copy;
  int64_t from_step = in.num_elements(), to_step = shape.num_elements(), offset = 0;
  for (int d = 0; d < in.rank(); ++d) {
    from_step /= in.dim(d);
    to_step /= shape.dim(d);
    offset += paddings.before[d] * to_step;
    copy.Add(in.dim(d), from_step, to_step);
  }
  copy.Run(ctx, in.dtype(), in.raw(), ElementAt(out, offset));
  return OkStatus();
}

Status PadShape(ShapeContext& c) { return PadShapeFn(c, 1); }

// The part of dy inside the padding.
Status PadGrad(GradContext& g) {
  const Output paddings = g.input(1);
  const DType index = paddings.dtype();
  const Output before = g.Op("GatherV2", {paddings, ConstInt(g, 0), ConstInt(g, 1)});
  g.set_dx(0, g.Op("Slice", {g.dy(0), before, ShapeOf(g, g.input(0), index)}));
  return OkStatus();
}

OP("Pad")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Shape(PadShape)
    .Gradient(PadGrad)
    .Cpu(PadCpu)
    .HostMemory("paddings")
    .Doc("Zeros around a tensor.");

OP("PadV2")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Input("constant_values: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: {int32, int64} = DT_INT32")
    .Shape(PadShape)
    .Gradient(PadGrad)
    .Cpu(PadCpu)
    .HostMemory("paddings")
    .HostMemory("constant_values")
    .Doc("A constant around a tensor.");

}  // namespace
}  // namespace millstream
