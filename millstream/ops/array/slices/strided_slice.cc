// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/slices/strided_slice_copy.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

class StridedSliceKernel : public Kernel {
 public:
  explicit StridedSliceKernel(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    SlicePlan plan;
    RETURN_IF_ERROR(ReadSlice(ctx, 1, in.shape().dims(), masks_, &plan));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(plan.final_dims));
    if (shape.num_elements() > 1 && Share(ctx, in, plan, shape)) return OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    StridedCopy copy;
    const int64_t offset = AddSliceAxes(in.shape(), plan, false, &copy);
    copy.Run(ctx, in.dtype(), ElementAt(in, offset), out->raw());
    return OkStatus();
  }

 private:
  // The result as a view, if only whole rows are taken.
  static bool Share(KernelContext& ctx, const Tensor& in, const SlicePlan& plan, const Shape& shape) {
    for (int d = 0; d < in.rank(); ++d) {
      if (d > 0 && plan.size[d] != in.dim(d)) return false;
      if (plan.size[d] > 1 && plan.stride[d] != 1) return false;
    }
    if (in.rank() == 0 || plan.size[0] == in.dim(0)) {
      ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
      return true;
    }
    const Tensor view = SharedRows(in, plan.begin[0], plan.begin[0] + plan.size[0]);
    if (!view.IsInitialized()) return false;
    ctx.set_output(0, view.Reshaped(shape));
    return true;
  }

  SliceMasks masks_;
};

class StridedSliceGradKernel : public Kernel {
 public:
  explicit StridedSliceGradKernel(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Compute(KernelContext& ctx) override {
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(ctx.input(0), "shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SlicePlan plan;
    RETURN_IF_ERROR(ReadSlice(ctx, 1, shape.dims(), masks_, &plan));
    ASSIGN_OR_RETURN(const Shape expected, MakeShape(plan.final_dims));
    const Tensor& dy = ctx.input(4);
    if (!(dy.shape() == expected)) {
      return errors::InvalidArgument("shape of dy was ", dy.shape().ToString(), " instead of ", expected.ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillZero(ctx, out);
    if (dy.num_elements() == 0) return OkStatus();
    StridedCopy copy;
    const int64_t offset = AddSliceAxes(shape, plan, true, &copy);
    copy.Run(ctx, dy.dtype(), dy.raw(), ElementAt(out, offset));
    return OkStatus();
  }

 private:
  SliceMasks masks_;
};

Status StridedSliceShape(ShapeContext& c) {
  SliceMasks masks;
  RETURN_IF_ERROR(SliceMasks::Read(c.attrs(), &masks));
  PartialShape length;
  for (int i = 1; i <= 3; ++i) {
    PartialShape one;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &one));
    ASSIGN_OR_RETURN(length, length.MergeWith(one));
  }
  Dims values[3];
  bool known[3];
  for (int i = 0; i < 3; ++i) {
    known[i] = c.constant(i + 1) != nullptr;
    if (known[i]) RETURN_IF_ERROR(ReadIntVector(*c.constant(i + 1), "strided slice bounds", &values[i]));
  }
  if (!c.input(0).rank_known() || !known[2]) return OkStatus();
  SlicePlan plan;
  RETURN_IF_ERROR(ResolveSlice(c.input(0).dims(), known[0] ? &values[0] : nullptr, known[1] ? &values[1] : nullptr,
                               values[2], masks, &plan));
  c.set_output(0, PartialShape(std::vector<int64_t>(plan.final_dims.begin(), plan.final_dims.end())));
  if (c.input_handle_dtype(0) != DType::kInvalid)
    c.set_output_handle(0, c.input_handle_shape(0), c.input_handle_dtype(0));
  return OkStatus();
}

Status StridedSliceGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(0));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status StridedSliceGrad(GradContext& g) {
  Output begin = g.input(1), end = g.input(2), strides = g.input(3);
  // StridedSliceGrad takes no int16.
  if (begin.dtype() == DType::kInt16) {
    for (Output* o : {&begin, &end, &strides}) *o = g.Op("Cast", {*o}, {{"DstT", DType::kInt32}});
  }
  RETURN_IF_ERROR(g.status());
  const Output shape = ShapeOf(g, g.input(0), begin.dtype());
  g.set_dx(0, SliceRelative(g, "StridedSliceGrad", {shape, begin, end, strides, g.dy(0)}));
  return g.status();
}

Status StridedSliceGradGrad(GradContext& g) {
  g.set_dx(4, SliceRelative(g, "StridedSlice", {g.dy(0), g.input(1), g.input(2), g.input(3)}));
  return g.status();
}

OP("StridedSlice")
    .Input("input: T")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Index: {int16, int32, int64}")
    .With(SliceMaskAttrs)
    .Shape(StridedSliceShape)
    .Gradient(StridedSliceGrad)
    .Cpu<StridedSliceKernel>()
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .Doc("What Python's x[begin:end:stride, ..., newaxis, i] gives.");

OP("StridedSliceGrad")
    .Input("shape: Index")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("dy: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .With(SliceMaskAttrs)
    .Shape(StridedSliceGradShape)
    .Gradient(StridedSliceGradGrad)
    .Cpu<StridedSliceGradKernel>()
    .HostMemory("shape")
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .Doc("Zeros of the given shape with dy where the slice was.");

}  // namespace
}  // namespace millstream
