// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/math/functions/vector_inverse.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// Functions of libm, for all types alike.
struct LibmFn {
  static constexpr double kCost = 10;
  static constexpr bool kLibm = true;
};

// Vector code for float, libm for the other types.
struct FloatVectorFn {
  static constexpr double kCost = 1.5;
  static constexpr bool kLibmDouble = true;
};

struct SinFn {
  static constexpr double kCost = 1.5;
  static bool Array(const float* x, float* y, int64_t n) {
    math::SinArray(x, y, n);
    return true;
  }
  template <typename T>
  static bool Array(const T* x, T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = std::sin(x[i]);
    return true;
  }
};
struct CosFn {
  static constexpr double kCost = 1.5;
  static bool Array(const float* x, float* y, int64_t n) {
    math::CosArray(x, y, n);
    return true;
  }
  template <typename T>
  static bool Array(const T* x, T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = std::cos(x[i]);
    return true;
  }
};
struct TanFn : LibmFn {
  template <typename T>
  T operator()(T x) const {
    return std::tan(x);
  }
};
struct AsinFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Asin(x);
    else
      return std::asin(x);
  }
};
struct AcosFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Acos(x);
    else
      return std::acos(x);
  }
};
struct AtanFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Atan(x);
    else
      return std::atan(x);
  }
};
struct Atan2Fn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T y, T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Atan2(y, x);
    else
      return std::atan2(y, x);
  }
};

Status SinGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), g.Op("Cos", {m.Conj(g.input(0))})));
  return g.status();
}
Status CosGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(m.Neg(g.dy(0)), g.Op("Sin", {m.Conj(g.input(0))})));
  return g.status();
}
Status TanGrad(GradContext& g) {
  const GradMath m(g);
  const Output secant = m.Inverse(g.Op("Cos", {m.Conj(g.input(0))}));
  g.set_dx(0, m.Mul(m.Square(secant), g.dy(0)));
  return g.status();
}
// 1 / sqrt(1 - x^2).
Output ArcSlope(GradContext& g) {
  const GradMath m(g);
  return m.Inverse(g.Op("Sqrt", {m.Sub(1.0, m.Square(m.Conj(g.input(0))))}));
}
Status AsinGrad(GradContext& g) {
  g.set_dx(0, GradMath(g).Mul(g.dy(0), ArcSlope(g)));
  return g.status();
}
Status AcosGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(m.Neg(g.dy(0)), ArcSlope(g)));
  return g.status();
}
Status AtanGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), m.Inverse(m.Add(m.Square(m.Conj(g.input(0))), 1.0))));
  return g.status();
}
Status Atan2Grad(GradContext& g) {
  const GradMath m(g);
  const Output y = g.input(0), x = g.input(1);
  const Output scaled = m.Div(g.dy(0), m.Add(m.Square(x), m.Square(y)));
  BroadcastGrads(g, y, x, m.Mul(x, scaled), m.Mul(m.Neg(y), scaled));
  return g.status();
}

UNARY_OP("Sin", kFloatOrComplex)
    .Gradient(SinGrad)
    .CpuFor<Unary<SinFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The sine of each element.");

UNARY_OP("Cos", kFloatOrComplex)
    .Gradient(CosGrad)
    .CpuFor<Unary<CosFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The cosine of each element.");

UNARY_OP("Tan", kFloatOrComplex)
    .Gradient(TanGrad)
    .CpuFor<Unary<TanFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The tangent of each element.");

UNARY_OP("Asin", kFloatOrComplex)
    .Gradient(AsinGrad)
    .CpuFor<Unary<AsinFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The inverse sine of each element.");

UNARY_OP("Acos", kFloatOrComplex)
    .Gradient(AcosGrad)
    .CpuFor<Unary<AcosFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The inverse cosine of each element.");

UNARY_OP("Atan", kFloatOrComplex)
    .Gradient(AtanGrad)
    .CpuFor<Unary<AtanFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The inverse tangent of each element.");

OP("Atan2")
    .Input("y: T")
    .Input("x: T")
    .Output("z: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Shape(BroadcastBinaryShape)
    .Gradient(Atan2Grad)
    .CpuFor<Binary<Atan2Fn, FloatTypes>>(FloatTypes{})
    .Doc("The angle of the point (x, y), with the signs of both taken into account.");

}  // namespace
}  // namespace millstream
