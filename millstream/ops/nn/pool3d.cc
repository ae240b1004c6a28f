// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/conv/pool.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/nn/volume.h"

namespace millstream {
namespace {

using PoolTypes = Types<float, BFloat16>;

class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(KernelInit& init) { init.Check(VolumeAttrs::Read(init.attrs(), &attrs_)); }

 protected:
  Status Window(const Dims& in, VolumeWindow* v, Shape* out) const {
    RETURN_IF_ERROR(MakeShape(in).status());
    RETURN_IF_ERROR(MakeVolumeWindow(attrs_, in, attrs_.window, v));
    ASSIGN_OR_RETURN(*out, MakeShape({in[0], v->out[0], v->out[1], v->out[2], in[4]}));
    return OkStatus();
  }
  // Input i and output 0 with channels last.
  StatusOr<Tensor> Input(KernelContext& ctx, int i) const { return attrs_.layout.ToLast(ctx, ctx.input(i)); }
  StatusOr<Tensor> Allocate(KernelContext& ctx, const Shape& shape) const {
    return attrs_.layout.AllocateOutput(ctx, 0, shape);
  }
  Status Store(KernelContext& ctx, const Tensor& out) const {
    attrs_.layout.Store(ctx, 0, out);
    return OkStatus();
  }
  static Dims DimsOf(const Tensor& t) { return Dims(t.shape().dims().begin(), t.shape().dims().end()); }

  VolumeAttrs attrs_;
};

// A pool over volumes is one over images, those of all depths, and then one along the depth, over images whose lines
// are the planes of the volume. Maxima are the same so; so are means, since the windows that a mean of means is of all
// have as many voxels; and the first maximum in row order lies in the first plane that has it.
struct Steps {
  math::PoolShape planes, depths;
  int64_t middle_size() const { return depths.batch * depths.in_height * depths.in_width * depths.channels; }
};

Steps StepsOf(const VolumeWindow& v, int64_t batch, int64_t channels) {
  Steps steps;
  math::PoolShape& p = steps.planes;
  p.batch = batch * v.in[0], p.in_height = v.in[1], p.in_width = v.in[2], p.channels = channels;
  p.out_height = v.out[1], p.out_width = v.out[2], p.window_height = v.window[1], p.window_width = v.window[2];
  p.stride_height = v.strides[1], p.stride_width = v.strides[2], p.pad_top = v.before[1], p.pad_left = v.before[2];
  math::PoolShape& d = steps.depths;
  d.batch = batch, d.in_height = v.in[0], d.in_width = d.out_width = v.out[1] * v.out[2], d.channels = channels;
  d.out_height = v.out[0], d.window_height = v.window[0], d.stride_height = v.strides[0], d.pad_top = v.before[0];
  return steps;
}

StatusOr<Tensor> Middle(KernelContext& ctx, const Steps& steps) {
  return ctx.AllocateTemp(DType::kFloat, Shape({steps.middle_size()}));
}

// Maxima or means over windows, of the voxels that are not padding.
template <bool average>
class Pool3D final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor in, Input(ctx, 0));
    VolumeWindow v;
    Shape shape;
    RETURN_IF_ERROR(Window(DimsOf(in), &v, &shape));
    ASSIGN_OR_RETURN(Tensor out, Allocate(ctx, shape));
    if (shape.num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, in));
    ASSIGN_OR_RETURN(Tensor y, FloatFor(ctx, &out));
    const Steps steps = StepsOf(v, in.dim(0), in.dim(4));
    ASSIGN_OR_RETURN(Tensor middle, Middle(ctx, steps));
    const auto pool = average ? &math::AvgPool<float> : &math::MaxPool<float>;
    pool(steps.planes, x.data<float>(), middle.data<float>(), ctx.pool());
    pool(steps.depths, middle.data<float>(), y.data<float>(), ctx.pool());
    StoreFloat(ctx, y, &out);
    return Store(ctx, out);
  }
};

Status CheckShape(const char* name, const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return OkStatus();
  return errors::InvalidArgument("Expected ", name, " shape to be ", shape.ToString(), ", but got ",
                                 t.shape().ToString());
}

// Inputs: volumes, their maxima, gradient. The gradient goes to the first maximum of each window, or `second` comes
// from there.
template <bool second>
class MaxPool3DGrad final : public PoolKernel {
 public:
  explicit MaxPool3DGrad(KernelInit& init) : PoolKernel(init) {
    if (second || init.Attr<DType>("TInput") == init.Attr<DType>("T")) return;
    init.Fail(errors::InvalidArgument("MaxPool3DGrad: volumes and gradients must be of one type"));
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor in, Input(ctx, 0));
    ASSIGN_OR_RETURN(const Tensor pooled, Input(ctx, 1));
    ASSIGN_OR_RETURN(const Tensor grad, Input(ctx, 2));
    VolumeWindow v;
    Shape shape;
    RETURN_IF_ERROR(Window(DimsOf(in), &v, &shape));
    RETURN_IF_ERROR(CheckShape("orig_output", pooled, shape));
    RETURN_IF_ERROR(CheckShape("grad", grad, second ? in.shape() : shape));
    ASSIGN_OR_RETURN(Tensor out, Allocate(ctx, second ? shape : in.shape()));
    if (out.num_elements() == 0) return OkStatus();
    if (shape.num_elements() == 0) {
      std::memset(out.raw(), 0, out.ByteSize());
      return Store(ctx, out);
    }
    RETURN_IF_ERROR(Run(ctx, StepsOf(v, in.dim(0), in.dim(4)), {in, pooled, grad}, &out));
    return Store(ctx, out);
  }

 private:
  struct Operands {
    const Tensor &in, &pooled, &grad;
  };
  static Status Run(KernelContext& ctx, const Steps& steps, const Operands& o, Tensor* out) {
    ASSIGN_OR_RETURN(const Tensor in, AsFloat(ctx, o.in));
    ASSIGN_OR_RETURN(const Tensor pooled, AsFloat(ctx, o.pooled));
    ASSIGN_OR_RETURN(const Tensor grad, AsFloat(ctx, o.grad));
    ASSIGN_OR_RETURN(Tensor result, FloatFor(ctx, out));
    ASSIGN_OR_RETURN(Tensor maxima, Middle(ctx, steps));
    ASSIGN_OR_RETURN(Tensor middle, Middle(ctx, steps));
    const float *x = in.data<float>(), *y = pooled.data<float>(), *g = grad.data<float>();
    float *m = maxima.data<float>(), *between = middle.data<float>(), *to = result.data<float>();
    math::MaxPool(steps.planes, x, m, ctx.pool());
    if (second) {
      math::MaxPoolGradGrad(steps.planes, x, m, g, between, ctx.pool());
      math::MaxPoolGradGrad(steps.depths, m, y, between, to, ctx.pool());
    } else {
      math::MaxPoolGrad(steps.depths, m, y, g, between, ctx.pool());
      math::MaxPoolGrad(steps.planes, x, m, between, to, ctx.pool());
    }
    StoreFloat(ctx, result, out);
    return OkStatus();
  }
};

class AvgPool3DGrad final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Compute(KernelContext& ctx) override {
    Dims in;
    RETURN_IF_ERROR(ReadIntVector(ctx.input(0), "orig_input_shape", &in));
    in = attrs_.layout.ToLast(in);
    ASSIGN_OR_RETURN(const Tensor dy, Input(ctx, 1));
    VolumeWindow v;
    Shape shape;
    if (in.size() != 5) return errors::InvalidArgument("orig_input_shape must be of length 5");
    RETURN_IF_ERROR(Window(in, &v, &shape));
    RETURN_IF_ERROR(CheckShape("grad", dy, shape));
    ASSIGN_OR_RETURN(const Shape in_shape, MakeShape(in));
    ASSIGN_OR_RETURN(Tensor dx, Allocate(ctx, in_shape));
    if (dx.num_elements() == 0) return OkStatus();
    if (shape.num_elements() == 0) {
      std::memset(dx.raw(), 0, dx.ByteSize());
      return Store(ctx, dx);
    }
    const Steps steps = StepsOf(v, in[0], in[4]);
    ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, dy));
    ASSIGN_OR_RETURN(Tensor result, FloatFor(ctx, &dx));
    ASSIGN_OR_RETURN(Tensor middle, Middle(ctx, steps));
    math::AvgPoolGrad(steps.depths, g.data<float>(), middle.data<float>(), ctx.pool());
    math::AvgPoolGrad(steps.planes, middle.data<float>(), result.data<float>(), ctx.pool());
    StoreFloat(ctx, result, &dx);
    return Store(ctx, dx);
  }
};

Status PoolShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 5, &in));
  std::vector<int64_t> window;
  std::string format;
  RETURN_IF_ERROR(c.GetAttr("ksize", &window));
  RETURN_IF_ERROR(c.GetAttr("data_format", &format));
  if (window.size() != 5) return errors::InvalidArgument("ksize must have 5 elements");
  const bool first = format == "NCDHW";
  const int at = first ? 2 : 1;
  return VolumeOutputShape(c, in, PartialShape({window[at], window[at + 1], window[at + 2]}), in.dim(first ? 1 : 4),
                           first);
}
Status GradGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(PoolShape(c));
  RETURN_IF_ERROR(c.input(2).MergeWith(c.input(0)).status());
  return c.input(1).MergeWith(c.output(0)).status();
}
Status AvgGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(0));
  RETURN_IF_ERROR(ShapeContext::WithRank(out, 5, &out));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Output Make(const GradContext& g, const char* op, std::vector<Output> inputs) {
  return Relative(g, op, std::move(inputs), {"ksize", "strides", "padding", "data_format"});
}
Status MaxGrad(GradContext& g) {
  g.set_dx(0, Make(g, "MaxPool3DGrad", {g.input(0), g.output(0), g.dy(0)}));
  return g.status();
}
// Where the maxima are does not change with small changes of the volumes: only the gradient input gets a gradient.
Status SecondGrad(GradContext& g, const char* op) {
  g.set_dx(0, ZerosFor(g.scope(), g.input(0)));
  g.set_dx(1, ZerosFor(g.scope(), g.input(1)));
  g.set_dx(2, Make(g, op, {g.input(0), g.input(1), g.dy(0)}));
  return g.status();
}
Status MaxGradGrad(GradContext& g) { return SecondGrad(g, "MaxPool3DGradGrad"); }
Status MaxGradGradGrad(GradContext& g) { return SecondGrad(g, "MaxPool3DGrad"); }
Status AvgGrad(GradContext& g) {
  g.set_dx(0, Make(g, "AvgPool3DGrad", {ShapeOf(g, g.input(0)), g.dy(0)}));
  return g.status();
}
Status AvgGradGrad(GradContext& g) {
  g.set_dx(1, Make(g, "AvgPool3D", {g.dy(0)}));
  return g.status();
}

void WindowAttrs(OpBuilder& op) {
  op.Attr("ksize: list(int) >= 5")
      .Attr("strides: list(int) >= 5")
      .Attr("padding: {'SAME', 'VALID'}")
      .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'");
}

OP("MaxPool3D")
    .Input("input: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: {half, bfloat16, float}")
    .Shape(PoolShape)
    .Gradient(MaxGrad)
    .CpuFor<Pool3D<false>>(PoolTypes{})
    .Doc("Maxima over windows of volumes.");

OP("MaxPool3DGrad")
    .Input("orig_input: TInput")
    .Input("orig_output: TInput")
    .Input("grad: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: {half, bfloat16, float} = DT_FLOAT")
    .Attr("TInput: {half, bfloat16, float} = DT_FLOAT")
    .Shape(UnchangedShape)
    .Gradient(MaxGradGrad)
    .CpuFor<MaxPool3DGrad<false>>(PoolTypes{})
    .Doc("The gradient of MaxPool3D.");

OP("MaxPool3DGradGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("grad: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: realnumbertype")
    .Shape(GradGradShape)
    .Gradient(MaxGradGradGrad)
    .CpuFor<MaxPool3DGrad<true>>(PoolTypes{})
    .Doc("The gradient of MaxPool3DGrad: of each window, the gradient at its first maximum.");

OP("AvgPool3D")
    .Input("input: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(PoolShape)
    .Gradient(AvgGrad)
    .CpuFor<Pool3D<true>>(PoolTypes{})
    .Doc("Means over windows of volumes.");

OP("AvgPool3DGrad")
    .Input("orig_input_shape: int32")
    .Input("grad: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(AvgGradShape)
    .Gradient(AvgGradGrad)
    .CpuFor<AvgPool3DGrad>(PoolTypes{})
    .HostMemory("orig_input_shape")
    .Doc("The gradient of AvgPool3D.");

}  // namespace
}  // namespace millstream
