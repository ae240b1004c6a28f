// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/nn/activation.h"

namespace millstream {
namespace {

// out = source, times alpha where features are not positive. For LeakyRelu itself the source is the features.
template <typename T>
void Scale(KernelContext& ctx, const Tensor& source, const Tensor& features, T alpha, Tensor* out) {
  const T *from = source.data<T>(), *x = features.data<T>();
  T* to = out->data<T>();
  simd::ParallelFor<T>(ctx.pool(), features.num_elements(), 0.3,
                       [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] = x[i] > T(0) ? from[i] : from[i] * alpha; });
}

class LeakyRelu : public Kernel {
 public:
  explicit LeakyRelu(KernelInit& init) : alpha_(init.Attr<float>("alpha")), grad_(init.input_types().size() == 2) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &source = ctx.input(0), &features = ctx.input(grad_ ? 1 : 0);
    if (source.shape() != features.shape()) {
      return errors::InvalidArgument("gradients and features must have the same shape, got ", source.shape().ToString(),
                                     " and ", features.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, source.shape()));
    ASSIGN_OR_RETURN(const Tensor from, AsFloat(ctx, source));
    ASSIGN_OR_RETURN(const Tensor x, grad_ ? AsFloat(ctx, features) : from);
    ASSIGN_OR_RETURN(Tensor to, FloatFor(ctx, out));
    if (x.dtype() == DType::kFloat)
      Scale<float>(ctx, from, x, alpha_, &to);
    else
      Scale<double>(ctx, from, x, alpha_, &to);
    StoreFloat(ctx, to, out);
    return OkStatus();
  }

 private:
  const float alpha_;
  const bool grad_;
};

Status LeakyReluGradient(GradContext& g) {
  g.set_dx(0, g.Op("LeakyReluGrad", {g.dy(0), g.input(0)}, {{"alpha", g.Attr<float>("alpha")}}));
  return g.status();
}
Status LeakyReluGradGradient(GradContext& g) {
  g.set_dx(0, g.Op("LeakyReluGrad", {g.dy(0), g.input(1)}, {{"alpha", g.Attr<float>("alpha")}}));
  g.set_dx(1, ZerosFor(g.scope(), g.input(1)));
  return g.status();
}

OP("LeakyRelu")
    .Input("features: T")
    .Output("activations: T")
    .Attr("alpha: float = 0.2")
    .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
    .Shape(UnchangedShape)
    .Gradient(LeakyReluGradient)
    .CpuFor<LeakyRelu>(FloatTypes{})
    .Doc("features where they are positive, alpha * features elsewhere.");

OP("LeakyReluGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("alpha: float = 0.2")
    .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
    .Shape(MergeBothShapes)
    .Gradient(LeakyReluGradGradient)
    .CpuFor<LeakyRelu>(FloatTypes{})
    .Doc("The gradient of LeakyRelu, from its features.");

}  // namespace
}  // namespace millstream
