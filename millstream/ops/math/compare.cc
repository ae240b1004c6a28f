// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/elementwise.h"

namespace millstream {
namespace {

struct LessFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqualFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct GreaterFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x, T y) const {
    return x > y;
  }
};
struct GreaterEqualFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE bool operator()(T x, T y) const {
    return x >= y;
  }
};

OP("Less")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: realnumbertype")
    .Shape(BroadcastBinaryShape)
    .NotDifferentiable()
    .CpuFor<Binary<LessFn, RealTypes>>(RealTypes{})
    .Doc("x < y, element by element with broadcasting.");

OP("LessEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: realnumbertype")
    .Shape(BroadcastBinaryShape)
    .NotDifferentiable()
    .CpuFor<Binary<LessEqualFn, RealTypes>>(RealTypes{})
    .Doc("x <= y, element by element with broadcasting.");

OP("Greater")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: realnumbertype")
    .Shape(BroadcastBinaryShape)
    .NotDifferentiable()
    .CpuFor<Binary<GreaterFn, RealTypes>>(RealTypes{})
    .Doc("x > y, element by element with broadcasting.");

OP("GreaterEqual")
    .Input("x: T")
    .Input("y: T")
    .Output("z: bool")
    .Attr("T: realnumbertype")
    .Shape(BroadcastBinaryShape)
    .NotDifferentiable()
    .CpuFor<Binary<GreaterEqualFn, RealTypes>>(RealTypes{})
    .Doc("x >= y, element by element with broadcasting.");

}  // namespace
}  // namespace millstream
