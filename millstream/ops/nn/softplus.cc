// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/vector_double.h"
#include "millstream/ops/nn/activation.h"

namespace millstream {
namespace {

template <typename T>
MILLSTREAM_ALWAYS_INLINE T Magnitude(T x) {
  return x < T(0) ? -x : x;
}

struct SoftplusFn {
  static constexpr double kCost = 1.5;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return math::wide::Softplus(x);
  }
};
struct SoftplusGradFn : PairFn {
  static constexpr double kCost = 1.0;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T dy, T x) const {
    return dy / (math::wide::Exp(-x) + T(1));
  }
};
struct SoftsignFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return x / (Magnitude(x) + T(1));
  }
};
struct SoftsignGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T dy, T x) const {
    const T d = Magnitude(x) + T(1);
    return dy / (d * d);
  }
};

Status SoftplusGradient(GradContext& g) {
  g.set_dx(0, g.Op("SoftplusGrad", {g.dy(0), g.input(0)}));
  return g.status();
}
Status SoftsignGradient(GradContext& g) {
  g.set_dx(0, g.Op("SoftsignGrad", {g.dy(0), g.input(0)}));
  return g.status();
}

// The derivative of 1 / (1 + exp(-x)) is 1 / (exp(-x) + 2 + exp(x)).
Status SoftplusGradGradient(GradContext& g) {
  const GradMath m(g);
  const Output ddx = g.dy(0), dy = g.input(0), x = g.input(1);
  if (!g.status().ok()) return g.status();
  g.set_dx(0, g.Op("SoftplusGrad", {ddx, x}));
  const Output divisor = m.Add(m.Add(g.Op("Exp", {m.Neg(x)}), 2.0), g.Op("Exp", {x}));
  g.set_dx(1, m.Div(m.Mul(ddx, dy), divisor));
  return g.status();
}

OP("Softplus")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(UnchangedShape)
    .Gradient(SoftplusGradient)
    .CpuFor<Unary<SoftplusFn, FloatTypes>>(FloatTypes{})
    .Doc("Returns log(exp(features) + 1), element by element.");

OP("SoftplusGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(MergeBothShapes)
    .Gradient(SoftplusGradGradient)
    .CpuFor<ActivationGrad<SoftplusGradFn, FloatTypes>>(FloatTypes{})
    .Doc("The gradient of Softplus, from its features.");

OP("Softsign")
    .Input("features: T")
    .Output("activations: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(UnchangedShape)
    .Gradient(SoftsignGradient)
    .CpuFor<Unary<SoftsignFn, FloatTypes>>(FloatTypes{})
    .Doc("features / (abs(features) + 1).");

OP("SoftsignGrad")
    .Input("gradients: T")
    .Input("features: T")
    .Output("backprops: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(MergeBothShapes)
    .CpuFor<ActivationGrad<SoftsignGradFn, FloatTypes>>(FloatTypes{})
    .Doc("The gradient of Softsign, from its features.");

}  // namespace
}  // namespace millstream
