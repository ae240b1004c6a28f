// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/narrow.h"
#include "millstream/ops/nn/activation.h"

namespace millstream {
namespace {

// to = from, times alpha where the features x are not positive. For LeakyRelu itself these are the same.
template <typename T>
void Scale(const void* source, const void* features, T alpha, void* out, int64_t n) {
  const T *from = static_cast<const T*>(source), *x = static_cast<const T*>(features);
  T* to = static_cast<T*>(out);
  simd::For<T>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { to[i] = x[i] > T(0) ? from[i] : from[i] * alpha; });
}

class LeakyRelu : public Kernel, public ElementKernel {
 public:
  explicit LeakyRelu(KernelInit& init)
      : alpha_(init.Attr<float>("alpha")),
        grad_(init.input_types().size() == 2),
        dtype_(RemoveRef(init.input_types()[0])) {}

  bool RunElements(const void* const* operands, void* result, int64_t n) const override {
    const void *source = operands[0], *features = operands[grad_ ? 1 : 0];
    if (IsNarrow(dtype_)) {
      RunNarrow(source, features, result, n);
    } else if (dtype_ == DType::kFloat) {
      Scale<float>(source, features, alpha_, result, n);
    } else {
      Scale<double>(source, features, alpha_, result, n);
    }
    return true;
  }
  double ElementCost() const override { return IsNarrow(dtype_) ? 1.3 : 0.3; }

  Status Compute(KernelContext& ctx) override {
    const Tensor &source = ctx.input(0), &features = ctx.input(grad_ ? 1 : 0);
    if (source.shape() != features.shape()) {
      return errors::InvalidArgument("gradients and features must have the same shape, got ", source.shape().ToString(),
                                     " and ", features.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, source.shape()));
    const auto size = static_cast<int64_t>(DTypeSize(dtype_));
    const char *from = static_cast<const char*>(source.raw()), *x = static_cast<const char*>(features.raw());
    char* const to = static_cast<char*>(out->raw());
    ParallelElements(ctx, source.num_elements(), ElementCost(), [&](int64_t begin, int64_t end) {
      const void* const operands[] = {from + begin * size, x + begin * size};
      RunElements(operands, to + begin * size, end - begin);
    });
    return OkStatus();
  }

 private:
  void RunNarrow(const void* source, const void* features, void* result, int64_t n) const {
    constexpr int64_t kBlock = 1024;
    alignas(64) float from[kBlock], x[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      WidenToFloat(dtype_, static_cast<const uint16_t*>(source) + i, from, m);
      WidenToFloat(dtype_, static_cast<const uint16_t*>(features) + i, x, m);
      Scale<float>(from, x, alpha_, from, m);
      NarrowFromFloat(dtype_, from, static_cast<uint16_t*>(result) + i, m);
    }
  }

  const float alpha_;
  const bool grad_;
  const DType dtype_;
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
