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

using LoopTypes = Join<Types<float, double>, IntTypes>;

class MaxPoolWithArgmax final : public PoolKernel {
 public:
  explicit MaxPoolWithArgmax(KernelInit& init)
      : PoolKernel(init, 1), include_batch_(init.Attr<bool>("include_batch_in_index")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WindowAttrs own;
    ASSIGN_OR_RETURN(const WindowAttrs* attrs, Attrs(ctx, &own));
    ASSIGN_OR_RETURN(const math::PoolShape s, MakePoolShape(*attrs, input.shape()));
    // A window over channels is checked and then has no effect, as in TensorFlow.
    if (attrs->window[3] != 1) RETURN_IF_ERROR(CheckDepthWindow(*attrs, s.channels));
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(s, s.channels));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * argmax, ctx.AllocateOutput(1, shape));
    if (out->num_elements() == 0) return OkStatus();
    Tensor places = *argmax;
    if (argmax->dtype() == DType::kInt32) {
      ASSIGN_OR_RETURN(places, ctx.AllocateTemp(DType::kInt64, shape));
    }
    ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, input));
    ASSIGN_OR_RETURN(Tensor y, FloatFor(ctx, out));
    DispatchOver(LoopTypes{}, x.dtype(), [&]<typename T>(std::type_identity<T>) {
      math::MaxPoolWithArgmax(s, x.data<T>(), include_batch_, y.data<T>(), places.data<int64_t>(), ctx.pool());
    });
    StoreFloat(ctx, y, out);
    if (argmax->dtype() == DType::kInt32) {
      const auto narrow = [](int64_t i) { return static_cast<int32_t>(i); };
      std::ranges::transform(places.flat<int64_t>(), argmax->data<int32_t>(), narrow);
    }
    return OkStatus();
  }

 private:
  const bool include_batch_;
};

// Inputs: images, gradient, places of the maxima.
class MaxPoolGradWithArgmax final : public PoolKernel {
 public:
  explicit MaxPoolGradWithArgmax(KernelInit& init)
      : PoolKernel(init, 3), include_batch_(init.Attr<bool>("include_batch_in_index")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &grad = ctx.input(1), &argmax = ctx.input(2);
    ASSIGN_OR_RETURN(const math::PoolShape s, Sizes(ctx, input.shape()));
    RETURN_IF_ERROR(CheckPooled("grad", s, grad.shape()));
    RETURN_IF_ERROR(CheckPooled("argmax", s, argmax.shape()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    ASSIGN_OR_RETURN(const Tensor g, AsFloat(ctx, grad));
    ASSIGN_OR_RETURN(Tensor dx, FloatFor(ctx, out));
    std::memset(dx.raw(), 0, dx.ByteSize());
    bool ok = true;
    DispatchOver(LoopTypes{}, g.dtype(), [&]<typename T>(std::type_identity<T>) {
      ok = Scatter(g.data<T>(), argmax.data<int64_t>(), s, argmax.num_elements(), dx.flat<T>());
    });
    if (!ok) return errors::InvalidArgument("argmax has an index outside of the images");
    StoreFloat(ctx, dx, out);
    return OkStatus();
  }

 private:
  template <typename T>
  bool Scatter(const T* grad, const int64_t* argmax, const math::PoolShape& s, int64_t n, std::span<T> dx) const {
    const int64_t pooled = s.out_height * s.out_width * s.channels, image = s.in_height * s.in_width * s.channels;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t limit = include_batch_ ? static_cast<int64_t>(dx.size()) : image;
      if (argmax[i] < 0 || argmax[i] >= limit) return false;
      T& to = dx[argmax[i] + (include_batch_ ? 0 : i / pooled * image)];
      using U = typename math::AccumulatorOf<T>::Type;
      if constexpr (std::is_integral_v<U>) {
        to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(grad[i]));
      } else {
        to += grad[i];
      }
    }
    return true;
  }

  const bool include_batch_;
};

Status ArgmaxShape(ShapeContext& c) {
  RETURN_IF_ERROR(FlatPoolShapeFn(c));
  c.set_output(1, c.output(0));
  return OkStatus();
}

Status ArgmaxGradient(GradContext& g) {
  g.set_dx(0, Relative(g, "MaxPoolGradWithArgmax", {g.input(0), g.dy(0), g.output(1)},
                       {"ksize", "strides", "padding", "include_batch_in_index"}));
  return g.status();
}

OP("MaxPoolWithArgmax")
    .Input("input: T")
    .Output("output: T")
    .Output("argmax: Targmax")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("Targmax: {int32, int64} = DT_INT64")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("include_batch_in_index: bool = false")
    .Attr("T: realnumbertype")
    .Shape(ArgmaxShape)
    .Gradient(ArgmaxGradient)
    .CpuFor<MaxPoolWithArgmax>(RealTypes{})
    .Expensive()
    .Doc("The largest value of each window, and its place in the flattened image (or batch of images).");

OP("MaxPoolGradWithArgmax")
    .Input("input: T")
    .Input("grad: T")
    .Input("argmax: Targmax")
    .Output("output: T")
    .Attr("ksize: list(int) >= 4")
    .Attr("strides: list(int) >= 4")
    .Attr("padding: {'SAME', 'VALID'}")
    .Attr("include_batch_in_index: bool = false")
    .Attr("Targmax: {int32, int64}")
    .Attr("T: realnumbertype")
    .Shape(UnchangedImages)
    .CpuFor<MaxPoolGradWithArgmax>(Types<int64_t>{}, "Targmax")
    .Expensive()
    .Doc("The gradient of MaxPoolWithArgmax.");

}  // namespace
}  // namespace millstream
