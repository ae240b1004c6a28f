// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/add_loop.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

struct SubFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x - y);
  }
};

Status AddGrad(GradContext& g) {
  const Output dy = g.dy(0);
  BroadcastGrads(g, g.input(0), g.input(1), dy, dy);
  return g.status();
}

Status SubGrad(GradContext& g) {
  const Output dy = g.dy(0);
  BroadcastGrads(g, g.input(0), g.input(1), dy, GradMath(g).Neg(dy));
  return g.status();
}

using AddTypes = Join<FloatComplexTypes, Types<uint8_t, int8_t, int16_t, int32_t, int64_t, std::string>>;

BINARY_OP("Add", "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}")
    .Gradient(AddGrad)
    .CpuFor<Binary<AddFn, AddTypes>>(AddTypes{})
    .Doc("x + y, element by element with broadcasting; strings are joined.");

BINARY_OP("AddV2",
          "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, "
          "complex64, complex128}")
    .Commutative()
    .Aggregate()
    .Gradient(AddGrad)
    .CpuFor<Binary<AddFn, NumberTypes>>(NumberTypes{})
    .Doc("x + y, element by element with broadcasting.");

BINARY_OP("Sub",
          "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, "
          "complex128, uint32, uint64}")
    .Gradient(SubGrad)
    .CpuFor<Binary<SubFn, NumberTypes>>(NumberTypes{})
    .Doc("x - y, element by element with broadcasting.");

}  // namespace
}  // namespace millstream
