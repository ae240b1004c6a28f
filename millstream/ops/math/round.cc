// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/elementwise.h"

namespace millstream {
namespace {

struct FloorFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return std::floor(x);
  }
};
struct CeilFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return std::ceil(x);
  }
};
// Halves go to the even neighbour.
struct RoundFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return std::rint(x);
  }
};
struct IsNanFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x) const {
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  }
};
struct IsFiniteFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x) const {
    return std::fabs(x) < std::numeric_limits<T>::infinity();
  }
};

// Steps: no gradient, and no error either.
Status NoGrad(GradContext& g) { return g.status(); }

UNARY_OP("Floor", "T: {bfloat16, half, float, double}")
    .Gradient(NoGrad)
    .CpuFor<Unary<FloorFn, FloatTypes>>(FloatTypes{})
    .Doc("The largest integer not above each element.");

UNARY_OP("Ceil", "T: {bfloat16, half, float, double}")
    .Gradient(NoGrad)
    .CpuFor<Unary<CeilFn, FloatTypes>>(FloatTypes{})
    .Doc("The smallest integer not below each element.");

UNARY_OP("Rint", "T: {bfloat16, half, float, double}")
    .Gradient(NoGrad)
    .CpuFor<Unary<RoundFn, Types<float, double>>>(Types<float, double>{})
    .Doc("The nearest integer; halves go to the even one.");

using RoundTypes = Join<FloatTypes, IndexTypes>;
UNARY_OP("Round", "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
    .Gradient(NoGrad)
    .CpuFor<Unary<RoundFn, RoundTypes>>(RoundTypes{})
    .Doc("The nearest integer; halves go to the even one.");

OP("IsNan")
    .Input("x: T")
    .Output("y: bool")
    .Attr("T: {bfloat16, half, float, double}")
    .Shape(UnchangedShape)
    .CpuFor<Unary<IsNanFn, FloatTypes>>(FloatTypes{})
    .Doc("Which elements are NaN.");

OP("IsInf")
    .Input("x: T")
    .Output("y: bool")
    .Attr("T: {bfloat16, half, float, double}")
    .Shape(UnchangedShape)
    .CpuFor<Unary<IsInfFn, FloatTypes>>(FloatTypes{})
    .Doc("Which elements are infinite.");

OP("IsFinite")
    .Input("x: T")
    .Output("y: bool")
    .Attr("T: {bfloat16, half, float, double}")
    .Shape(UnchangedShape)
    .CpuFor<Unary<IsFiniteFn, FloatTypes>>(FloatTypes{})
    .Doc("Which elements are neither infinite nor NaN.");

}  // namespace
}  // namespace millstream
