// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/integer_division.h"

namespace millstream {
namespace {

struct RealDivFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return x / y;
  }
  // Of complex numbers: without the branches of the operator of std::complex, and with a divisor whose larger part is
  // one, so that its square neither overflows nor vanishes.
  template <typename T>
  requires(kIsComplex<T>) static bool Array(const T* x, const T* y, T* z, int64_t n) {
    using R = typename T::value_type;
    const R *a = reinterpret_cast<const R*>(x), *b = reinterpret_cast<const R*>(y);
    R* c = reinterpret_cast<R*>(z);
    simd::For<R>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      const R re = b[2 * i], im = b[2 * i + 1], wide = std::abs(re), high = std::abs(im);
      const R larger = wide < high ? high : wide, s = re / larger, t = im / larger, norm = (s * s + t * t) * larger;
      const R real = (a[2 * i] * s + a[2 * i + 1] * t) / norm, imaginary = (a[2 * i + 1] * s - a[2 * i] * t) / norm;
      c[2 * i] = real;
      c[2 * i + 1] = imaginary;
    });
    return true;
  }
};

struct DivNoNanFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return y == T(0) ? T(0) : x / y;
  }
};

// Integers only; floats are RealDivFn.
struct TruncateDivFn : CheckedDivision<TruncateDivFn> {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Finish(T, T, T q) {
    return q;
  }
};

struct FloorDivIntFn : CheckedDivision<FloorDivIntFn> {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Finish(T x, T y, T q) {
    return static_cast<T>(q - static_cast<T>(RoundedUp(DivisionRemainder(x, y, q), y)));
  }
};

struct FloorDivFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return std::floor(x / y);
  }
};

struct TruncateFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return std::trunc(x / y);
  }
};

Status QuotientGrad(GradContext& g, const char* op) {
  const GradMath m(g);
  const Output x = m.Conj(g.input(0)), y = m.Conj(g.input(1)), dz = g.dy(0);
  const Output gy = m.Mul(dz, g.Op(op, {g.Op(op, {m.Neg(x), y}), y}));
  BroadcastGrads(g, g.input(0), g.input(1), g.Op(op, {dz, y}), gy);
  return g.status();
}
Status DivGrad(GradContext& g) { return QuotientGrad(g, "Div"); }
Status RealDivGrad(GradContext& g) { return QuotientGrad(g, "RealDiv"); }
Status DivNoNanGrad(GradContext& g) { return QuotientGrad(g, "DivNoNan"); }
// Steps: no gradient, and no error either.
Status NoGrad(GradContext& g) { return g.status(); }

constexpr char kQuotientTypes[] =
    "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, "
    "complex64, complex128}";

BINARY_OP("RealDiv", kQuotientTypes)
    .Gradient(RealDivGrad)
    .CpuFor<Binary<RealDivFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("x / y for floating-point types, element by element with broadcasting.");

BINARY_OP("Div", kQuotientTypes)
    .Gradient(DivGrad)
    .CpuFor<Binary<RealDivFn, FloatComplexTypes>>(FloatComplexTypes{})
    .CpuFor<Binary<TruncateDivFn, IntTypes>>(IntTypes{})
    .Doc("x / y, element by element with broadcasting; integers are rounded towards zero.");

BINARY_OP("DivNoNan", "T: {half, float, bfloat16, double, complex64, complex128}")
    .Gradient(DivNoNanGrad)
    .CpuFor<Binary<DivNoNanFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("x / y, and 0 where y is 0.");

BINARY_OP("TruncateDiv", kQuotientTypes)
    .Gradient(NoGrad)
    .CpuFor<Binary<TruncateFn, FloatTypes>>(FloatTypes{})
    .CpuFor<TruncatingBinary<TruncateDivFn, IntTypes>>(IntTypes{})
    .Doc("x / y rounded towards zero.");

BINARY_OP("FloorDiv", kQuotientTypes)
    .Gradient(NoGrad)
    .CpuFor<Binary<FloorDivFn, FloatTypes>>(FloatTypes{})
    .CpuFor<Binary<FloorDivIntFn, IntTypes>>(IntTypes{})
    .Doc("x / y rounded towards minus infinity.");

}  // namespace
}  // namespace millstream
