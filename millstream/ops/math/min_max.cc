// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// NaN in either operand gives NaN.
struct MaximumFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T larger = x > y ? x : y;
      return x != x ? x : larger;
    } else {
      return x > y ? x : y;
    }
  }
};

struct MinimumFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T smaller = x < y ? x : y;
      return x != x ? x : smaller;
    } else {
      return x < y ? x : y;
    }
  }
};

// The side that was chosen gets the gradient; x where both are equal.
Status ChoiceGrad(GradContext& g, const char* chooses_x) {
  const Output x = g.input(0), y = g.input(1), dz = g.dy(0);
  const Output mask = g.Op(chooses_x, {x, y});
  const Output zeros = g.Op("ZerosLike", {dz});
  BroadcastGrads(g, x, y, g.Op("Select", {mask, dz, zeros}), g.Op("Select", {mask, zeros, dz}));
  return g.status();
}
Status MaximumGrad(GradContext& g) { return ChoiceGrad(g, "GreaterEqual"); }
Status MinimumGrad(GradContext& g) { return ChoiceGrad(g, "LessEqual"); }

BINARY_OP("Maximum", "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
    .Gradient(MaximumGrad)
    .CpuFor<Binary<MaximumFn, RealTypes>>(RealTypes{})
    .Doc("The larger of x and y, element by element with broadcasting.");

BINARY_OP("Minimum", "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
    .Gradient(MinimumGrad)
    .CpuFor<Binary<MinimumFn, RealTypes>>(RealTypes{})
    .Doc("The smaller of x and y, element by element with broadcasting.");

}  // namespace
}  // namespace millstream
