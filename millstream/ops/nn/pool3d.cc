// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/gradients/relative.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/nn/volume.h"
#include "millstream/tensor/dispatch.h"

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

// Maxima or means over windows, of the voxels that are not padding.
template <typename T, bool average>
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
    const int64_t channels = in.dim(4);
    ctx.ParallelFor(
        in.dim(0), static_cast<double>(v.positions() * v.taps() * channels), [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b) {
            One(v, channels, in.data<T>() + b * v.size() * channels, out.data<T>() + b * v.positions() * channels);
          }
        });
    return Store(ctx, out);
  }

 private:
  static void One(const VolumeWindow& v, int64_t channels, const T* in, T* out) {
    std::vector<float> best(static_cast<size_t>(channels));
    int64_t count = 0;
    v.ForEachTap([&](int64_t position, int64_t tap, int64_t place) {
      if (tap == 0) {
        std::fill(best.begin(), best.end(), average ? 0.0f : -std::numeric_limits<float>::infinity());
        count = 0;
      }
      if (place >= 0) {
        ++count;
        for (int64_t c = 0; c < channels; ++c) {
          const float x = static_cast<float>(in[place * channels + c]);
          best[c] = average ? best[c] + x : std::max(best[c], x);
        }
      }
      if (tap + 1 < v.taps()) return;
      for (int64_t c = 0; c < channels; ++c) {
        out[position * channels + c] = static_cast<T>(average ? best[c] / static_cast<float>(count) : best[c]);
      }
    });
  }
};
template <typename T>
using MaxPool3D = Pool3D<T, false>;
template <typename T>
using AvgPool3D = Pool3D<T, true>;

// Calls visit(input element, output element) for the first voxel of each window that is the maximum.
template <typename T, typename Visit>
void ForEachMaximum(const VolumeWindow& v, const Tensor& in, const Tensor& out, Visit visit) {
  const int64_t channels = in.dim(4);
  std::vector<bool> done(static_cast<size_t>(channels));
  for (int64_t b = 0; out.num_elements() > 0 && b < in.dim(0); ++b) {
    const int64_t volume = b * v.size() * channels, result = b * v.positions() * channels;
    v.ForEachTap([&](int64_t position, int64_t tap, int64_t place) {
      if (tap == 0) std::fill(done.begin(), done.end(), false);
      if (place < 0) return;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t i = volume + place * channels + c, o = result + position * channels + c;
        if (done[c] || static_cast<float>(in.data<T>()[i]) != static_cast<float>(out.data<T>()[o])) continue;
        visit(i, o);
        done[c] = true;
      }
    });
  }
}

Status CheckShape(const char* name, const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return OkStatus();
  return errors::InvalidArgument("Expected ", name, " shape to be ", shape.ToString(), ", but got ",
                                 t.shape().ToString());
}

template <typename T>
class MaxPool3DGrad final : public PoolKernel {
 public:
  explicit MaxPool3DGrad(KernelInit& init) : PoolKernel(init) {
    if (init.Attr<DType>("TInput") == init.Attr<DType>("T")) return;
    init.Fail(errors::InvalidArgument("MaxPool3DGrad: volumes and gradients must be of one type"));
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor in, Input(ctx, 0));
    ASSIGN_OR_RETURN(const Tensor out, Input(ctx, 1));
    ASSIGN_OR_RETURN(const Tensor dy, Input(ctx, 2));
    VolumeWindow v;
    Shape shape;
    RETURN_IF_ERROR(Window(DimsOf(in), &v, &shape));
    RETURN_IF_ERROR(CheckShape("orig_output", out, shape));
    RETURN_IF_ERROR(CheckShape("grad", dy, shape));
    ASSIGN_OR_RETURN(Tensor dx, Allocate(ctx, in.shape()));
    std::vector<float> sums(static_cast<size_t>(in.num_elements()), 0);
    ForEachMaximum<T>(v, in, out, [&](int64_t i, int64_t o) { sums[i] += static_cast<float>(dy.data<T>()[o]); });
    std::copy(sums.begin(), sums.end(), dx.data<T>());
    return Store(ctx, dx);
  }
};

// The gradient of that: of each window, the gradient at its first maximum.
template <typename T>
class MaxPool3DGradGrad final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Tensor in, Input(ctx, 0));
    ASSIGN_OR_RETURN(const Tensor out, Input(ctx, 1));
    ASSIGN_OR_RETURN(const Tensor grad, Input(ctx, 2));
    VolumeWindow v;
    Shape shape;
    RETURN_IF_ERROR(Window(DimsOf(in), &v, &shape));
    RETURN_IF_ERROR(CheckShape("orig_output", out, shape));
    RETURN_IF_ERROR(CheckShape("grad", grad, in.shape()));
    ASSIGN_OR_RETURN(Tensor result, Allocate(ctx, shape));
    std::fill_n(result.data<T>(), result.num_elements(), T(0));
    ForEachMaximum<T>(v, in, out, [&](int64_t i, int64_t o) { result.data<T>()[o] = grad.data<T>()[i]; });
    return Store(ctx, result);
  }
};

template <typename T>
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
    if (!(dy.shape() == shape)) {
      return errors::InvalidArgument("Expected grad shape to be ", shape.ToString(), ", but got ",
                                     dy.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Shape in_shape, MakeShape(in));
    ASSIGN_OR_RETURN(Tensor dx, Allocate(ctx, in_shape));
    std::vector<float> sums(static_cast<size_t>(in_shape.num_elements()), 0);
    const int64_t channels = in[4];
    std::vector<int64_t> counts(static_cast<size_t>(v.positions()), 0);
    v.ForEachTap([&](int64_t position, int64_t, int64_t place) { counts[position] += place >= 0 ? 1 : 0; });
    for (int64_t b = 0; shape.num_elements() > 0 && b < in[0]; ++b) {
      v.ForEachTap([&](int64_t position, int64_t, int64_t place) {
        if (place < 0) return;
        const auto n = static_cast<float>(counts[position]);
        for (int64_t c = 0; c < channels; ++c) {
          sums[(b * v.size() + place) * channels + c] +=
              static_cast<float>(dy.data<T>()[(b * v.positions() + position) * channels + c]) / n;
        }
      });
    }
    std::copy(sums.begin(), sums.end(), dx.data<T>());
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
    .Cpu<MaxPool3D>(PoolTypes{})
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
    .Cpu<MaxPool3DGrad>(PoolTypes{})
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
    .Cpu<MaxPool3DGradGrad>(PoolTypes{})
    .Doc("The gradient of MaxPool3DGrad: of each window, the gradient at its first maximum.");

OP("AvgPool3D")
    .Input("input: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(PoolShape)
    .Gradient(AvgGrad)
    .Cpu<AvgPool3D>(PoolTypes{})
    .Doc("Means over windows of volumes.");

OP("AvgPool3DGrad")
    .Input("orig_input_shape: int32")
    .Input("grad: T")
    .Output("output: T")
    .With(WindowAttrs)
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(AvgGradShape)
    .Gradient(AvgGradGrad)
    .Cpu<AvgPool3DGrad>(PoolTypes{})
    .HostMemory("orig_input_shape")
    .Doc("The gradient of AvgPool3D.");

}  // namespace
}  // namespace millstream
