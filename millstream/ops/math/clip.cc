// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// NaN stays. Complex numbers are clipped in both parts.
template <typename T>
MILLSTREAM_ALWAYS_INLINE T Clip(T x, T low, T high) {
  if constexpr (kIsComplex<T>) {
    return T(Clip(x.real(), low.real(), high.real()), Clip(x.imag(), low.imag(), high.imag()));
  } else {
    x = x > high ? high : x;
    return x < low ? low : x;
  }
}

// Bounds are of the shape of the values, or one for all.
template <typename T>
class ClipKernel final : public Kernel {
 public:
  explicit ClipKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &t = ctx.input(0), &low = ctx.input(1), &high = ctx.input(2);
    const auto fits = [&](const Tensor& bound) { return bound.rank() == 0 || bound.shape() == t.shape(); };
    if (!fits(low) || !fits(high)) {
      return errors::InvalidArgument("clip_value_min and clip_value_max must be either of the same shape as input, or ",
                                     "a scalar. input shape: ", t.shape().ToString(),
                                     "clip_value_min shape: ", low.shape().ToString(),
                                     "clip_value_max shape: ", high.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, t.shape()));
    const T *x = t.data<T>(), *lows = low.data<T>(), *highs = high.data<T>();
    T* y = out->data<T>();
    const int64_t low_step = low.rank() == 0 ? 0 : 1, high_step = high.rank() == 0 ? 0 : 1;
    ctx.ParallelFor(
        t.num_elements(), 0.4,
        [&](int64_t begin, int64_t end) {
          if (low_step == 0 && high_step == 0)
            ClipToRange(x, *lows, *highs, y, begin, end);
          else
            ClipEach(x, lows, low_step, highs, high_step, y, begin, end);
        },
        64);
    return OkStatus();
  }

 private:
  using C = ::millstream::Compute<T>;
  static void ClipToRange(const T* x, T low, T high, T* y, int64_t begin, int64_t end) {
    if constexpr (simd::kMultiIsa<T>) {
      simd::For<T>(begin, end, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = Clip(x[i], low, high); });
    } else {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(Clip<C>(x[i], low, high));
    }
  }
  static void ClipEach(const T* x, const T* low, int64_t low_step, const T* high, int64_t high_step, T* y,
                       int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<T>(Clip<C>(x[i], low[i * low_step], high[i * high_step]));
    }
  }
};

// A bound gets the gradients of the elements that it holds back.
void SetBoundGrad(GradContext& g, int i, Output mask, Output dy, Output zeros) {
  const GradMath m(g);
  const Output bound = g.input(i), dx = g.Op("Select", {mask, dy, zeros});
  const PartialShape shape = g.scope().ShapeOf(bound);
  if (shape.IsFullyDefined() && shape == g.scope().ShapeOf(g.input(0))) return g.set_dx(i, dx);
  Node* axes = g.Add("BroadcastGradientArgs", {m.Shape(bound), m.Shape(g.input(0))});
  if (axes == nullptr) return;
  g.set_dx(i, g.Op("Reshape", {g.Op("Sum", {dx, Output(axes, 0)}), m.Shape(bound)}));
}

Status ClipGrad(GradContext& g) {
  const Output x = g.input(0), dy = g.dy(0), zeros = g.Op("ZerosLike", {x});
  const Output below = g.Op("Less", {x, g.input(1)}), above = g.Op("Greater", {x, g.input(2)});
  g.set_dx(0, g.Op("Select", {g.Op("LogicalOr", {below, above}), zeros, dy}));
  SetBoundGrad(g, 1, below, dy, zeros);
  SetBoundGrad(g, 2, above, dy, zeros);
  return g.status();
}

using ClipTypes = Join<FloatComplexTypes, Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t>>;

OP("ClipByValue")
    .Input("t: T")
    .Input("clip_value_min: T")
    .Input("clip_value_max: T")
    .Output("output: T")
    .Attr("T: numbertype")
    .Shape(UnchangedShape)
    .Gradient(ClipGrad)
    .Cpu<ClipKernel>(ClipTypes{})
    .Doc("Values above the maximum become the maximum, values below the minimum the minimum.");

}  // namespace
}  // namespace millstream
