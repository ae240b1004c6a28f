// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/elementwise.h"

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

#define COMPARISON(Name, Fn, doc)                 \
  OP(Name)                                        \
      .Input("x: T")                              \
      .Input("y: T")                              \
      .Output("z: bool")                          \
      .Attr("T: realnumbertype")                  \
      .Shape(BroadcastBinaryShape)                \
      .NotDifferentiable()                        \
      .CpuFor<Binary<Fn, RealTypes>>(RealTypes{}) \
      .Doc(doc)

COMPARISON("Less", LessFn, "x < y, element by element with broadcasting.");
COMPARISON("LessEqual", LessEqualFn, "x <= y, element by element with broadcasting.");
COMPARISON("Greater", GreaterFn, "x > y, element by element with broadcasting.");
COMPARISON("GreaterEqual", GreaterEqualFn, "x >= y, element by element with broadcasting.");
#undef COMPARISON

}  // namespace
}  // namespace millstream
