// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/math/conv/pool_inl.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/nn/pool.h"

namespace millstream {
namespace {

class AvgPool final : public PoolKernel {
 public:
  explicit AvgPool(KernelInit& init) : PoolKernel(init, 1) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor input, layout().ToLast(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const math::PoolShape s, Sizes(ctx, input.shape()));
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(s, s.channels));
    ASSIGN_OR_RETURN(Tensor out, layout().AllocateOutput(ctx, 0, shape));
    if (out.num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, input));
    ASSIGN_OR_RETURN(Tensor y, FloatFor(ctx, &out));
    if (x.dtype() == DType::kFloat)
      math::AvgPool(s, x.data<float>(), y.data<float>(), ctx.pool());
    else
      math::AvgPool(s, x.data<double>(), y.data<double>(), ctx.pool());
    StoreFloat(ctx, y, &out);
    layout().Store(ctx, 0, out);
    return OkStatus();
  }
};

// Inputs: shape of the images, gradient.
class AvgPoolGrad final : public PoolKernel {
 public:
  explicit AvgPoolGrad(KernelInit& init) : PoolKernel(init, 2) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& sizes = ctx.input(0);
    ASSIGN_OR_RETURN(const Tensor grad, layout().ToLast(ctx, ctx.input(1)));
    if (sizes.rank() != 1 || sizes.num_elements() != 4) {
      return errors::InvalidArgument("out_backprop must have 4 sizes, got shape ", sizes.shape().ToString());
    }
    Dims dims;
    RETURN_IF_ERROR(ReadInts(sizes, &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(layout().ToLast(dims)));
    ASSIGN_OR_RETURN(const math::PoolShape s, Sizes(ctx, shape));
    RETURN_IF_ERROR(CheckPooled("grad", s, grad.shape()));
    ASSIGN_OR_RETURN(Tensor out, layout().AllocateOutput(ctx, 0, shape));
    if (out.num_elements() == 0) return OkStatus();
    if (grad.num_elements() == 0) {
      std::memset(ctx.output(0)->raw(), 0, out.ByteSize());
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, grad));
    ASSIGN_OR_RETURN(Tensor dx, FloatFor(ctx, &out));
    if (g.dtype() == DType::kFloat)
      math::AvgPoolGrad(s, g.data<float>(), dx.data<float>(), ctx.pool());
    else
      math::AvgPoolGrad(s, g.data<double>(), dx.data<double>(), ctx.pool());
    StoreFloat(ctx, dx, &out);
    layout().Store(ctx, 0, out);
    return OkStatus();
  }
};

Status AvgPoolGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape sizes, c.ConstantAsShape(0));
  RETURN_IF_ERROR(ShapeContext::WithRank(sizes, 4, &sizes));
  c.set_output(0, std::move(sizes));
  return OkStatus();
}

Status AvgPoolGradient(GradContext& g) {
  g.set_dx(
      0, Relative(g, "AvgPoolGrad", {ShapeOf(g, g.input(0)), g.dy(0)}, {"ksize", "strides", "padding", "data_format"}));
  return g.status();
}

Status AvgPoolGradGradient(GradContext& g) {
  g.set_dx(1, Relative(g, "AvgPool", {g.dy(0)}, {"ksize", "strides", "padding", "data_format"}));
  return g.status();
}

OP("AvgPool")
    .Input("value: T")
    .Output("output: T")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(FlatPoolShapeFn)
    .Gradient(AvgPoolGradient)
    .CpuFor<AvgPool>(FloatTypes{})
    .Expensive()
    .Doc("The mean of each window; padding does not count.");

OP("AvgPoolGrad")
    .Input("orig_input_shape: int32")
    .Input("grad: T")
    .Output("output: T")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(AvgPoolGradShape)
    .Gradient(AvgPoolGradGradient)
    .CpuFor<AvgPoolGrad>(FloatTypes{})
    .Expensive()
    .HostMemory("orig_input_shape")
    .Doc("The gradient of AvgPool: each window's is shared by its pixels.");

}  // namespace
}  // namespace millstream
