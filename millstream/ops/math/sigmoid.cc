// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/math/vector_double.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

struct TanhFn {
  static constexpr double kCost = 1.0;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return std::tanh(x);
    else
      return math::wide::Tanh(x);
  }
};

struct SigmoidFn {
  static constexpr double kCost = 1.0;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return T(1) / (T(1) + std::exp(-x));
    else
      return math::wide::Sigmoid(x);
  }
};

struct TanhGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T y, T dy) const {
    return dy * y * (T(1) - y);
  }
};

Status TanhGradient(GradContext& g) {
  g.set_dx(0, g.Op("TanhGrad", {GradMath(g).Conj(g.output(0)), g.dy(0)}));
  return g.status();
}
Status SigmoidGradient(GradContext& g) {
  g.set_dx(0, g.Op("SigmoidGrad", {GradMath(g).Conj(g.output(0)), g.dy(0)}));
  return g.status();
}

Status TanhGradGrad(GradContext& g) {
  const GradMath m(g);
  const Output a = m.Conj(g.input(0)), b = m.Conj(g.input(1)), dz = g.dy(0);
  g.set_dx(0, m.Mul(m.Mul(m.Mul(dz, -2.0), b), a));
  g.set_dx(1, g.Op("TanhGrad", {a, dz}));
  return g.status();
}

Status SigmoidGradGrad(GradContext& g) {
  const GradMath m(g);
  const Output a = m.Conj(g.input(0)), b = m.Conj(g.input(1)), dz = g.dy(0);
  const Output gb = m.Mul(dz, b);
  g.set_dx(0, m.Sub(gb, m.Mul(m.Mul(gb, 2.0), a)));
  g.set_dx(1, g.Op("SigmoidGrad", {a, dz}));
  return g.status();
}

UNARY_OP("Tanh", kFloatOrComplex)
    .Gradient(TanhGradient)
    .CpuFor<Unary<TanhFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The hyperbolic tangent of each element.");

UNARY_GRAD_OP("TanhGrad", kFloatOrComplex)
    .Gradient(TanhGradGrad)
    .CpuFor<Binary<TanhGradFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The gradient of y = Tanh(x): dy * (1 - y^2).");

UNARY_OP("Sigmoid", kFloatOrComplex)
    .Gradient(SigmoidGradient)
    .CpuFor<Unary<SigmoidFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("1 / (1 + exp(-x)).");

UNARY_GRAD_OP("SigmoidGrad", kFloatOrComplex)
    .Gradient(SigmoidGradGrad)
    .CpuFor<Binary<SigmoidGradFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The gradient of y = Sigmoid(x): dy * y * (1 - y).");

}  // namespace
}  // namespace millstream
