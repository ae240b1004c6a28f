// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/math/functions/vector_inverse.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// Vector code for float, libm for the other types.
struct FloatVectorFn {
  static constexpr double kCost = 1.5;
  static constexpr bool kLibmDouble = true;
};
struct SinhFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Sinh(x);
    else
      return std::sinh(x);
  }
};
struct CoshFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Cosh(x);
    else
      return std::cosh(x);
  }
};
struct AsinhFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Asinh(x);
    else
      return std::asinh(x);
  }
};
struct AcoshFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Acosh(x);
    else
      return std::acosh(x);
  }
};
struct AtanhFn : FloatVectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return math::Atanh(x);
    else
      return std::atanh(x);
  }
};

Status SinhGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), g.Op("Cosh", {m.Conj(g.input(0))})));
  return g.status();
}
Status CoshGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), g.Op("Sinh", {m.Conj(g.input(0))})));
  return g.status();
}
Status AsinhGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Div(g.dy(0), g.Op("Cosh", {m.Conj(g.output(0))})));
  return g.status();
}
Status AcoshGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Div(g.dy(0), g.Op("Sinh", {m.Conj(g.output(0))})));
  return g.status();
}
Status AtanhGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), m.Inverse(m.Sub(1.0, m.Square(m.Conj(g.input(0)))))));
  return g.status();
}

UNARY_OP("Sinh", kFloatOrComplex)
    .Gradient(SinhGrad)
    .CpuFor<Unary<SinhFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The hyperbolic sine of each element.");

UNARY_OP("Cosh", kFloatOrComplex)
    .Gradient(CoshGrad)
    .CpuFor<Unary<CoshFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The hyperbolic cosine of each element.");

UNARY_OP("Asinh", kFloatOrComplex)
    .Gradient(AsinhGrad)
    .CpuFor<Unary<AsinhFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The inverse hyperbolic sine of each element.");

UNARY_OP("Acosh", kFloatOrComplex)
    .Gradient(AcoshGrad)
    .CpuFor<Unary<AcoshFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The inverse hyperbolic cosine of each element.");

UNARY_OP("Atanh", kFloatOrComplex)
    .Gradient(AtanhGrad)
    .CpuFor<Unary<AtanhFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The inverse hyperbolic tangent of each element.");

}  // namespace
}  // namespace millstream
