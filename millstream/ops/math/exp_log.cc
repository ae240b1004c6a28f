// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/math/vector_double.h"
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/complex_near_zero.h"

namespace millstream {
namespace {

struct VectorFn {
  static constexpr double kCost = 1.0;
};

struct ExpFn : VectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return std::exp(x);
    else
      return math::wide::Exp(x);
  }
};
struct Expm1Fn : VectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return ComplexExpm1(x);
    else
      return math::wide::Expm1(x);
  }
};
struct LogFn : VectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return std::log(x);
    else
      return math::wide::Log(x);
  }
};
struct Log1pFn : VectorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>)
      return ComplexLog1p(x);
    else
      return math::wide::Log1p(x);
  }
};

Status ExpGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), m.Conj(g.output(0))));
  return g.status();
}
Status Expm1Grad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), g.Op("Exp", {m.Conj(g.input(0))})));
  return g.status();
}
Status LogGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), m.Inverse(m.Conj(g.input(0)))));
  return g.status();
}
Status Log1pGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), m.Inverse(m.Add(m.Conj(g.input(0)), 1.0))));
  return g.status();
}

UNARY_OP("Exp", kFloatOrComplex)
    .Gradient(ExpGrad)
    .CpuFor<Unary<ExpFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("Returns e to the power of each element.");

UNARY_OP("Expm1", kFloatOrComplex)
    .Gradient(Expm1Grad)
    .CpuFor<Unary<Expm1Fn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("exp(x) - 1, exact also near 0.");

UNARY_OP("Log", kFloatOrComplex)
    .Gradient(LogGrad)
    .CpuFor<Unary<LogFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The natural logarithm of each element.");

UNARY_OP("Log1p", kFloatOrComplex)
    .Gradient(Log1pGrad)
    .CpuFor<Unary<Log1pFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("log(1 + x), exact also near 0.");

}  // namespace
}  // namespace millstream
