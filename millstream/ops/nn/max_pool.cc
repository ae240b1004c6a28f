// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/math/conv/pool_inl.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/nn/pool.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// What loops are compiled for.
using LoopTypes = Join<Types<float, double>, IntTypes>;

class MaxPool final : public PoolKernel {
 public:
  explicit MaxPool(KernelInit& init) : PoolKernel(init, 1) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor input, layout().ToLast(ctx, ctx.input(0)));
    Shape shape;
    ASSIGN_OR_RETURN(const math::PoolShape s, MaxSizes(ctx, input.shape(), &shape));
    ASSIGN_OR_RETURN(Tensor out, layout().AllocateOutput(ctx, 0, shape));
    if (out.num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, input));
    ASSIGN_OR_RETURN(Tensor y, FloatFor(ctx, &out));
    DispatchOver(LoopTypes{}, x.dtype(),
                 [&]<typename T>(std::type_identity<T>) { math::MaxPool(s, x.data<T>(), y.data<T>(), ctx.pool()); });
    StoreFloat(ctx, y, &out);
    layout().Store(ctx, 0, out);
    return OkStatus();
  }
};

// Inputs: images, the pooled images, gradient.
template <bool second>
class MaxPoolGrad final : public PoolKernel {
 public:
  explicit MaxPoolGrad(KernelInit& init) : PoolKernel(init, 3) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor input, layout().ToLast(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const Tensor pooled, layout().ToLast(ctx, ctx.input(1)));
    ASSIGN_OR_RETURN(const Tensor grad, layout().ToLast(ctx, ctx.input(2)));
    WindowAttrs own;
    ASSIGN_OR_RETURN(const WindowAttrs* attrs, Attrs(ctx, &own));
    if (attrs->window[3] != 1 || attrs->strides[3] != 1) {
      return errors::Unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    }
    ASSIGN_OR_RETURN(const math::PoolShape s, MakePoolShape(*attrs, input.shape()));
    RETURN_IF_ERROR(CheckPooled("orig_output", s, pooled.shape()));
    if (!second) RETURN_IF_ERROR(CheckPooled("grad", s, grad.shape()));
    if (second && grad.shape() != input.shape()) {
      return errors::InvalidArgument("Expected grad shape to be ", input.shape().ToString(), ", but got ",
                                     grad.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor out, layout().AllocateOutput(ctx, 0, second ? pooled.shape() : input.shape()));
    if (out.num_elements() == 0) return OkStatus();
    if (grad.num_elements() == 0) {
      std::memset(ctx.output(0)->raw(), 0, out.ByteSize());
      return OkStatus();
    }
    RETURN_IF_ERROR(Run(ctx, s, {input, pooled, grad}, &out));
    layout().Store(ctx, 0, out);
    return OkStatus();
  }

 private:
  struct Operands {
    const Tensor &input, &pooled, &grad;
  };
  static Status Run(KernelContext& ctx, const math::PoolShape& s, const Operands& o, Tensor* out) {
    ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, o.input));
    ASSIGN_OR_RETURN(const Tensor y, AsFloat(ctx, o.pooled));
    ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, o.grad));
    ASSIGN_OR_RETURN(Tensor dx, FloatFor(ctx, out));
    DispatchOver(LoopTypes{}, x.dtype(), [&]<typename T>(std::type_identity<T>) {
      const auto fn = second ? &math::MaxPoolGradGrad<T> : &math::MaxPoolGrad<T>;
      fn(s, x.data<T>(), y.data<T>(), g.data<T>(), dx.data<T>(), ctx.pool());
    });
    StoreFloat(ctx, dx, out);
    return OkStatus();
  }
};

Status MaxPoolV2Shape(ShapeContext& c) { return PoolV2ShapeFn(c, 1); }

// The gradient has the shape of the images, the result that of the pooled ones.
Status CheckGradGrad(ShapeContext& c) {
  RETURN_IF_ERROR(c.input(0).MergeWith(c.input(2)).status());
  return c.input(1).MergeWith(c.output(0)).status();
}
Status MaxPoolGradGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(PoolShapeFn(c));
  return CheckGradGrad(c);
}
Status MaxPoolGradGradV2Shape(ShapeContext& c) {
  RETURN_IF_ERROR(PoolV2ShapeFn(c, 3));
  return CheckGradGrad(c);
}

Status MaxPoolGradient(GradContext& g) {
  g.set_dx(0, Relative(g, "MaxPoolGrad", {g.input(0), g.output(0), g.dy(0)},
                       {"ksize", "strides", "padding", "explicit_paddings", "data_format"}));
  return g.status();
}
Status MaxPoolV2Gradient(GradContext& g) {
  g.set_dx(0, Relative(g, "MaxPoolGradV2", {g.input(0), g.output(0), g.dy(0), g.input(1), g.input(2)},
                       {"padding", "data_format"}));
  return g.status();
}

// Where the maxima are does not change with small changes of the images: only the gradient input gets a gradient.
Status SecondGradient(GradContext& g, const char* type) {
  g.set_dx(0, ZerosFor(g.scope(), g.input(0)));
  g.set_dx(1, ZerosFor(g.scope(), g.input(1)));
  std::vector<Output> inputs = {g.input(0), g.input(1), g.dy(0)};
  for (int i = 3; i < g.node().num_inputs(); ++i) inputs.push_back(g.input(i));
  g.set_dx(2, Relative(g, type, std::move(inputs), {"ksize", "strides", "padding", "data_format"}));
  return g.status();
}
Status MaxPoolGradGradient(GradContext& g) { return SecondGradient(g, "MaxPoolGradGrad"); }
Status MaxPoolGradGradGradient(GradContext& g) { return SecondGradient(g, "MaxPoolGrad"); }
Status MaxPoolGradV2Gradient(GradContext& g) { return SecondGradient(g, "MaxPoolGradGradV2"); }

OP("MaxPool")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
    .Shape(PoolShapeFn)
    .Gradient(MaxPoolGradient)
    .CpuFor<MaxPool>(RealTypes{})
    .Expensive()
    .Doc("The largest value of each window.");

OP("MaxPoolV2")
    .Input("input: T")
    .Input("ksize: int32")
    .Input("strides: int32")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
    .Shape(MaxPoolV2Shape)
    .Gradient(MaxPoolV2Gradient)
    .CpuFor<MaxPool>(RealTypes{})
    .Expensive()
    .HostMemory("ksize")
    .HostMemory("strides")
    .Doc("MaxPool with window and strides as inputs.");

OP("MaxPoolGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Output("output: T")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: realnumbertype = DT_FLOAT")
    .Shape(UnchangedImages)
    .Gradient(MaxPoolGradGradient)
    .CpuFor<MaxPoolGrad<false>>(RealTypes{})
    .Expensive()
    .Doc("The gradient of MaxPool: each window's goes to its first maximum.");

OP("MaxPoolGradV2")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Input("ksize: int32")
    .Input("strides: int32")
    .Output("output: T")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: realnumbertype = DT_FLOAT")
    .Shape(UnchangedImages)
    .Gradient(MaxPoolGradV2Gradient)
    .CpuFor<MaxPoolGrad<false>>(RealTypes{})
    .Expensive()
    .HostMemory("ksize")
    .HostMemory("strides")
    .Doc("The gradient of MaxPoolV2.");

OP("MaxPoolGradGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Output("output: T")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: realnumbertype")
    .Shape(MaxPoolGradGradShape)
    .Gradient(MaxPoolGradGradGradient)
    .CpuFor<MaxPoolGrad<true>>(RealTypes{})
    .Expensive()
    .Doc("The gradient of MaxPoolGrad: of each window, the gradient at its first maximum.");

OP("MaxPoolGradGradV2")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Input("ksize: int32")
    .Input("strides: int32")
    .Output("output: T")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
    .Attr("T: realnumbertype")
    .Shape(MaxPoolGradGradV2Shape)
    .CpuFor<MaxPoolGrad<true>>(RealTypes{})
    .Expensive()
    .HostMemory("ksize")
    .HostMemory("strides")
    .Doc("The gradient of MaxPoolGradV2.");

}  // namespace
}  // namespace millstream
