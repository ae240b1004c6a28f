// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/vector_double.h"
#include "millstream/ops/nn/activation.h"

namespace millstream {
namespace {

// Klambauer et al., "Self-Normalizing Neural Networks" (2017).
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

struct EluFn {
  static constexpr double kCost = 1.0;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    const T below = math::wide::Expm1(x);
    return x < T(0) ? below : x;
  }
};
struct EluGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T dy, T y) const {
    const T below = (y + T(1)) * dy;
    return y < T(0) ? below : dy;
  }
};
struct SeluFn {
  static constexpr double kCost = 1.0;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    const T below = T(kSeluScaleAlpha) * math::wide::Expm1(x);
    return x < T(0) ? below : T(kSeluScale) * x;
  }
};
struct SeluGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T dy, T y) const {
    return dy * (y < T(0) ? y + T(kSeluScaleAlpha) : T(kSeluScale));
  }
};

Status EluGradient(GradContext& g) {
  g.set_dx(0, g.Op("EluGrad", {g.dy(0), g.output(0)}));
  return g.status();
}
Status SeluGradient(GradContext& g) {
  g.set_dx(0, g.Op("SeluGrad", {g.dy(0), g.output(0)}));
  return g.status();
}

// Of both EluGrad and SeluGrad, which are linear in the outputs below zero, with slope 1.
Status GradGradient(GradContext& g) {
  const GradMath m(g);
  const Output dy = g.dy(0), y = g.input(1);
  if (!g.status().ok()) return g.status();
  g.set_dx(0, g.Op(g.node().type(), {dy, y}));
  const Output below = g.Op("Less", {y, g.ConstLike(y, 0)});
  g.set_dx(1, g.Op("SelectV2", {below, m.Mul(dy, g.input(0)), ZerosFor(g.scope(), y)}));
  return g.status();
}

OP("Elu")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(UnchangedShape)
    .Gradient(EluGradient)
    .CpuFor<Unary<EluFn, FloatTypes>>(FloatTypes{})
    .Doc("Returns exp(features) - 1 where the features are negative, and the features elsewhere.");

OP("EluGrad")
    .Input("gradients: T")
    .Input("outputs: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(MergeBothShapes)
    .Gradient(GradGradient)
    .CpuFor<ActivationGrad<EluGradFn, FloatTypes>>(FloatTypes{})
    .Doc("The gradient of Elu, from its outputs.");

OP("Selu")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(UnchangedShape)
    .Gradient(SeluGradient)
    .CpuFor<Unary<SeluFn, FloatTypes>>(FloatTypes{})
    .Doc("scale * alpha * (exp(features) - 1) below zero, scale * features above.");

OP("SeluGrad")
    .Input("gradients: T")
    .Input("outputs: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(MergeBothShapes)
    .Gradient(GradGradient)
    .CpuFor<ActivationGrad<SeluGradFn, FloatTypes>>(FloatTypes{})
    .Doc("The gradient of Selu, from its outputs.");

}  // namespace
}  // namespace millstream
