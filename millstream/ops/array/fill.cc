// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

Status FillCpu(KernelContext& ctx) {
  Dims dims;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(0), "dims", &dims));
  const Tensor& value = ctx.input(1);
  if (value.num_elements() != 1 || value.rank() > 1) {
    return errors::InvalidArgument("value must be a scalar, got shape ", value.shape().ToString());
  }
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  DispatchBlob(value.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    ParallelFill(ctx, *BlobData<T>(value), shape.num_elements(), BlobData<T>(out));
  });
  return OkStatus();
}

Status FillShape(ShapeContext& c) {
  PartialShape value;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &value));
  std::vector<int64_t> sizes;
  if (c.ConstantInts(0, &sizes) && std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s < 0; })) {
    return errors::InvalidArgument("Fill dimensions must be >= 0");
  }
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(0));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status FillGrad(GradContext& g) {
  const Output dy = g.dy(0);
  const Output axes = g.Op("Range", {g.scope().Const(0), g.Op("Rank", {dy}), g.scope().Const(1)});
  g.set_dx(1, g.Op("Sum", {dy, axes}));
  return OkStatus();
}

OP("Fill")
    .Input("dims: index_type")
    .Input("value: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("index_type: {int32, int64} = DT_INT32")
    .Shape(FillShape)
    .Gradient(FillGrad)
    .Cpu(FillCpu)
    .HostMemory("dims")
    .Doc("A tensor of the given shape with one value everywhere.");

}  // namespace
}  // namespace millstream
