// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

struct MulFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    // uint16_t would be promoted to int, which may overflow.
    if constexpr (std::is_same_v<T, uint16_t>)
      return static_cast<T>(static_cast<uint32_t>(x) * y);
    else
      return static_cast<T>(x * y);
  }
  // By the formula alone: the operator of std::complex looks at every product whether infinities made it NaN.
  template <typename T>
  requires(kIsComplex<T>) static bool Array(const T* x, const T* y, T* z, int64_t n) {
    using R = typename T::value_type;
    const R *a = reinterpret_cast<const R*>(x), *b = reinterpret_cast<const R*>(y);
    R* c = reinterpret_cast<R*>(z);
    simd::For<R>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
      const R re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
      const R im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
      c[2 * i] = re;
      c[2 * i + 1] = im;
    });
    return true;
  }
};

struct SquaredDifferenceFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      const U d = static_cast<U>(x) - static_cast<U>(y);
      return static_cast<T>(d * d);
    } else if constexpr (kIsComplex<T>) {
      const T d = x - y;
      return d * std::conj(d);
    } else {
      const T d = x - y;
      return d * d;
    }
  }
};

Status MulGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  BroadcastGrads(g, x, y, m.Mul(dz, m.Conj(y)), m.Mul(m.Conj(x), dz));
  return g.status();
}

Status SquaredDifferenceGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1);
  const Output gx = m.Mul(m.Mul(g.dy(0), 2.0), m.Sub(x, y));
  BroadcastGrads(g, x, y, gx, m.Neg(gx));
  return g.status();
}

Status MulNoNanGrad(GradContext& g) {
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  BroadcastGrads(g, x, y, g.Op("MulNoNan", {dz, y}), g.Op("MulNoNan", {x, dz}));
  return g.status();
}

struct MulNoNanFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return y == T(0) ? T(0) : x * y;
  }
};

BINARY_OP("Mul",
          "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, "
          "int64, complex64, complex128}")
    .Commutative()
    .Gradient(MulGrad)
    .CpuFor<Binary<MulFn, NumberTypes>>(NumberTypes{})
    .Doc("x * y, element by element with broadcasting.");

BINARY_OP("MulNoNan", kFloatOrComplex)
    .Gradient(MulNoNanGrad)
    .CpuFor<Binary<MulNoNanFn, FloatComplexTypes>>(FloatComplexTypes{})
    .Doc("x * y, and 0 where y is 0 even if x is infinite or NaN.");

using SquaredDifferenceTypes = Join<FloatComplexTypes, IndexTypes>;
BINARY_OP("SquaredDifference", "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Commutative()
    .Gradient(SquaredDifferenceGrad)
    .CpuFor<Binary<SquaredDifferenceFn, SquaredDifferenceTypes>>(SquaredDifferenceTypes{})
    .Doc("conj(x - y) * (x - y), element by element with broadcasting.");

}  // namespace
}  // namespace millstream
