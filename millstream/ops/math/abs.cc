// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

struct AbsFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;  // the lowest value stays what it is
      return static_cast<T>(x < 0 ? static_cast<U>(0 - static_cast<U>(x)) : static_cast<U>(x));
    } else {
      return std::fabs(x);
    }
  }
};

struct NegFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return static_cast<T>(-x);
  }
};

// Complex numbers: x / |x|, and 0 at 0.
struct SignFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (kIsComplex<T>) {
      const auto size = std::abs(x);
      return size == 0 ? T(0) : T(x.real() / size, x.imag() / size);
    } else if constexpr (std::is_floating_point_v<T>) {
      const T sign = x > 0 ? T(1) : (x < 0 ? T(-1) : T(0));
      return x != x ? x : sign;
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  }
};

Status AbsGrad(GradContext& g) {
  g.set_dx(0, GradMath(g).Mul(g.dy(0), g.Op("Sign", {g.input(0)})));
  return g.status();
}

Status NegGrad(GradContext& g) {
  g.set_dx(0, GradMath(g).Neg(g.dy(0)));
  return g.status();
}

Status SignGrad(GradContext& g) {
  g.set_dx(0, GradMath(g).ZerosLike(g.input(0)));
  return g.status();
}

using AbsTypes = Join<FloatTypes, SignedTypes>;

UNARY_OP("Abs", "T: {bfloat16, half, float, double, int8, int16, int32, int64}")
    .Gradient(AbsGrad)
    .CpuFor<Unary<AbsFn, AbsTypes>>(AbsTypes{})
    .Doc("The absolute value of each element.");

UNARY_OP("Neg", "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .Gradient(NegGrad)
    .CpuFor<Unary<NegFn, SignedNumberTypes>>(SignedNumberTypes{})
    .Doc("-x.");

UNARY_OP("Sign", "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .Gradient(SignGrad)
    .CpuFor<Unary<SignFn, SignedNumberTypes>>(SignedNumberTypes{})
    .Doc("-1, 0 or 1; x / |x| for complex numbers.");

}  // namespace
}  // namespace millstream
