// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

struct SquareFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, uint16_t>)
      return static_cast<T>(static_cast<uint32_t>(x) * x);
    else
      return static_cast<T>(x * x);
  }
  // By the formula alone: the operator of std::complex looks at every product whether infinities made it NaN.
  template <typename T>
  requires(kIsComplex<T>) static bool Array(const T* x, T* y, int64_t n) {
    using R = typename T::value_type;
    const R* a = reinterpret_cast<const R*>(x);
    R* b = reinterpret_cast<R*>(y);
    simd::For<R>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      const R re = a[2 * i], im = a[2 * i + 1];
      b[2 * i] = re * re - im * im;
      b[2 * i + 1] = R(2) * (re * im);
    });
    return true;
  }
};
struct SqrtFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct RsqrtFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return T(1) / std::sqrt(x);
  }
};
struct InverseFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return T(1) / x;
  }
};

template <typename T>
MILLSTREAM_ALWAYS_INLINE T Conj(T x) {
  if constexpr (kIsComplex<T>)
    return std::conj(x);
  else
    return x;
}

// Gradients in terms of the result y and its gradient dy. Where dy is 0 the gradient is 0, also where y is not finite.
struct SqrtGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : dy * T(0.5) / Conj(y);
  }
};
struct RsqrtGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T y, T dy) const {
    const T c = Conj(y);
    return dy == T(0) ? T(0) : T(-0.5) * (dy * c) * (c * c);
  }
};
struct InverseGradFn : PairFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T y, T dy) const {
    const T c = Conj(y);
    return dy == T(0) ? T(0) : -dy * (c * c);
  }
};

Status SquareGrad(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, m.Mul(g.dy(0), m.Mul(m.Conj(g.input(0)), 2.0)));
  return g.status();
}

Status SqrtGradient(GradContext& g) {
  g.set_dx(0, g.Op("SqrtGrad", {g.output(0), g.dy(0)}));
  return g.status();
}
Status RsqrtGradient(GradContext& g) {
  g.set_dx(0, g.Op("RsqrtGrad", {g.output(0), g.dy(0)}));
  return g.status();
}
Status InvGradient(GradContext& g) {
  g.set_dx(0, g.Op("InvGrad", {g.output(0), g.dy(0)}));
  return g.status();
}
Status ReciprocalGradient(GradContext& g) {
  g.set_dx(0, g.Op("ReciprocalGrad", {g.output(0), g.dy(0)}));
  return g.status();
}

Status SqrtGradGrad(GradContext& g) {
  const GradMath m(g);
  const Output ga = m.Div(g.dy(0), g.input(0));
  g.set_dx(0, m.Mul(m.Neg(m.Conj(ga)), g.output(0)));
  g.set_dx(1, m.Mul(ga, 0.5));
  return g.status();
}

Status RsqrtGradGrad(GradContext& g) {
  const GradMath m(g);
  const Output ca = m.Conj(g.input(0)), b = g.input(1), dz = g.dy(0);
  g.set_dx(0, m.Mul(m.Mul(m.Mul(m.Conj(dz), -1.5), b), m.Square(ca)));
  g.set_dx(1, g.Op("RsqrtGrad", {ca, dz}));
  return g.status();
}

Status InverseGradGrad(GradContext& g) {
  const GradMath m(g);
  const Output ca = m.Conj(g.input(0)), b = g.input(1), dz = g.dy(0);
  g.set_dx(0, m.Mul(m.Mul(m.Mul(m.Conj(dz), -2.0), b), ca));
  g.set_dx(1, g.Op(g.node().type(), {ca, dz}));
  return g.status();
}

UNARY_OP("Square",
         "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, "
         "uint64, complex64, complex128}")
    .Gradient(SquareGrad)
    .CpuFor<Unary<SquareFn, NumberTypes>>(NumberTypes{})
    .Doc("x * x.");

UNARY_OP("Sqrt", kFloatOrComplex)
    .Gradient(SqrtGradient)
    .CpuFor<Unary<SqrtFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The square root of each element.");

UNARY_GRAD_OP("SqrtGrad", kFloatOrComplex)
    .Gradient(SqrtGradGrad)
    .CpuFor<Binary<SqrtGradFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The gradient of y = Sqrt(x): dy * 0.5 / y.");

UNARY_OP("Rsqrt", kFloatOrComplex)
    .Gradient(RsqrtGradient)
    .CpuFor<Unary<RsqrtFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("1 / Sqrt(x).");

UNARY_GRAD_OP("RsqrtGrad", kFloatOrComplex)
    .Gradient(RsqrtGradGrad)
    .CpuFor<Binary<RsqrtGradFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The gradient of y = Rsqrt(x): dy * -0.5 * y^3.");

UNARY_OP("Inv", "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .Gradient(InvGradient)
    .CpuFor<Unary<InverseFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("1 / x; the older name of Reciprocal.");

UNARY_GRAD_OP("InvGrad", kFloatOrComplex)
    .Gradient(InverseGradGrad)
    .CpuFor<Binary<InverseGradFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The gradient of y = Inv(x): -dy * y^2.");

UNARY_OP("Reciprocal", "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .Gradient(ReciprocalGradient)
    .CpuFor<Unary<InverseFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("1 / x.");

UNARY_GRAD_OP("ReciprocalGrad", kFloatOrComplex)
    .Gradient(InverseGradGrad)
    .CpuFor<Binary<InverseGradFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("The gradient of y = Reciprocal(x): -dy * y^2.");

}  // namespace
}  // namespace millstream
