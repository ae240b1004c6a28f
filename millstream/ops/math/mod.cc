// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/math/integer_division.h"

namespace millstream {
namespace {

struct TruncateModIntFn : CheckedDivision<TruncateModIntFn> {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Finish(T x, T y, T q) {
    return DivisionRemainder(x, y, q);
  }
};
struct FloorModIntFn : CheckedDivision<FloorModIntFn> {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Finish(T x, T y, T q) {
    const T r = DivisionRemainder(x, y, q);
    return static_cast<T>(RoundedUp(r, y) ? r + y : r);
  }
};

struct TruncateModFn {
  static constexpr double kCost = 10;
  static constexpr bool kLibm = true;
  template <typename T>
  T operator()(T x, T y) const {
    return std::fmod(x, y);
  }
};
// The result has the sign of y.
struct FloorModFn {
  static constexpr double kCost = 10;
  static constexpr bool kLibm = true;
  template <typename T>
  T operator()(T x, T y) const {
    const T r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  }
};

Status FloorModGrad(GradContext& g) {
  const GradMath m(g);
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  BroadcastGrads(g, x, y, dz, m.Mul(dz, m.Neg(g.Op("FloorDiv", {x, y}))));
  return g.status();
}

using WideTypes = Types<float, double>;

BINARY_OP("FloorMod", "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}")
    .Gradient(FloorModGrad)
    .CpuFor<Binary<FloorModFn, FloatTypes>>(FloatTypes{})
    .CpuFor<Binary<FloorModIntFn, IntTypes>>(IntTypes{})
    .Doc("The remainder of x / y with the sign of y.");

BINARY_OP("TruncateMod", "T: {int32, int64, bfloat16, half, float, double}")
    .CpuFor<Binary<TruncateModFn, WideTypes>>(WideTypes{})
    .CpuFor<TruncatingBinary<TruncateModIntFn, IndexTypes>>(IndexTypes{})
    .Doc("The remainder of x / y with the sign of x.");

BINARY_OP("Mod", "T: {int32, int64, half, half, bfloat16, float, double}")
    .CpuFor<Binary<TruncateModFn, WideTypes>>(WideTypes{})
    .CpuFor<Binary<TruncateModIntFn, IndexTypes>>(IndexTypes{})
    .Doc("The remainder of x / y with the sign of x.");

}  // namespace
}  // namespace millstream
