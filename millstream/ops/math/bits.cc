// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "millstream/ops/elements/elementwise.h"

namespace millstream {
namespace {

struct BitwiseFn {
  static constexpr bool kModular = true;
};
struct AndFn : BitwiseFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x & y);
  }
};
struct OrFn : BitwiseFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x | y);
  }
};
struct XorFn : BitwiseFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x ^ y);
  }
};
struct InvertFn : BitwiseFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
// Of bytes, which become vectors; bools do not.
struct NotFn {
  static constexpr bool kModular = true;
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x) const {
    return static_cast<T>(x == T(0));
  }
};
// Distances outside the width of the type are brought to its border.
template <typename T>
MILLSTREAM_ALWAYS_INLINE int Distance(T y) {
  constexpr int kLast = 8 * sizeof(T) - 1;
  if (std::is_signed_v<T> && y < T(0)) return 0;
  return y > T(kLast) ? kLast : static_cast<int>(y);
}
struct LeftShiftFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << Distance(y));
  }
};
struct RightShiftFn {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x >> Distance(y));
  }
};

using BoolTypes = Types<bool>;

OP("LogicalAnd")
    .Input("x: bool")
    .Input("y: bool")
    .Output("z: bool")
    .Commutative()
    .Shape(BroadcastBinaryShape)
    .NotDifferentiable()
    .Cpu<Binary<AndFn, BoolTypes>>()
    .Doc("Returns whether both x and y hold, element by element with broadcasting.");

OP("LogicalOr")
    .Input("x: bool")
    .Input("y: bool")
    .Output("z: bool")
    .Commutative()
    .Shape(BroadcastBinaryShape)
    .NotDifferentiable()
    .Cpu<Binary<OrFn, BoolTypes>>()
    .Doc("x or y, element by element with broadcasting.");

// An unsigned loop serves both signs: the bits are the same.
struct PopulationFn {
  static constexpr bool kModular = true;
  template <typename T>
  uint8_t operator()(T x) const {
    return static_cast<uint8_t>(std::popcount(x));
  }
};

constexpr char kBitTypes[] = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}";

OP("PopulationCount")
    .Input("x: T")
    .Output("y: uint8")
    .Attr(kBitTypes)
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .CpuFor<Unary<PopulationFn, IntTypes>>(IntTypes{})
    .Doc("The number of bits that are set in each element.");

OP("LogicalNot")
    .Input("x: bool")
    .Output("y: bool")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<Unary<NotFn, BoolTypes>>()
    .Doc("not x.");

BINARY_OP("BitwiseAnd", kBitTypes)
    .Commutative()
    .NotDifferentiable()
    .CpuFor<Binary<AndFn, IntTypes>>(IntTypes{})
    .Doc("The bits set in both x and y.");

BINARY_OP("BitwiseOr", kBitTypes)
    .Commutative()
    .NotDifferentiable()
    .CpuFor<Binary<OrFn, IntTypes>>(IntTypes{})
    .Doc("The bits set in x or y.");

BINARY_OP("BitwiseXor", kBitTypes)
    .Commutative()
    .NotDifferentiable()
    .CpuFor<Binary<XorFn, IntTypes>>(IntTypes{})
    .Doc("The bits in which x and y differ.");

UNARY_OP("Invert", kBitTypes)
    .NotDifferentiable()
    .CpuFor<Unary<InvertFn, IntTypes>>(IntTypes{})
    .Doc("x with every bit flipped.");

BINARY_OP("LeftShift", kBitTypes)
    .NotDifferentiable()
    .CpuFor<Binary<LeftShiftFn, IntTypes>>(IntTypes{})
    .Doc("x shifted to the left by y bits.");

BINARY_OP("RightShift", kBitTypes)
    .NotDifferentiable()
    .CpuFor<Binary<RightShiftFn, IntTypes>>(IntTypes{})
    .Doc("x shifted to the right by y bits, keeping the sign.");

}  // namespace
}  // namespace millstream
