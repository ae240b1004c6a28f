// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_ELEMENTWISE_H_
#define MILLSTREAM_OPS_ELEMENTS_ELEMENTWISE_H_

#include <type_traits>

#include "millstream/framework/op.h"
#include "millstream/math/simd_types.h"
#include "millstream/ops/elements/element_kernel.h"
#include "millstream/tensor/dispatch.h"

// Kernels that compute each element by itself. An op gives a functor
//
//   struct AddFn {
//     template <typename T>
//     MILLSTREAM_ALWAYS_INLINE T operator()(T x, T y) const { return x + y; }
//   };
//
// and registers Unary<Fn, TypeList> or Binary<Fn, TypeList> with CpuFor(). Only the innermost loop over plain arrays is
// compiled per type (float and double once for each instruction set); shapes, broadcasting, threads, buffers and the
// 16-bit floats, which are converted in blocks and use the loop of float, are handled once, without types.
// What a functor may say of itself:
//   static constexpr double kCost   nanoseconds per element (default 0.3)
//   static constexpr bool kLibm     calls functions: one plain loop instead of one for each instruction set
//   static constexpr bool kLibmDouble  the same for double only
//   static constexpr bool kModular  the same bits come out for signed and unsigned integers
//   static constexpr bool kPairs    operands have the same number of elements, no broadcasting (see PairFn)
//   static bool Array(x, [y,] z, n) the whole loop, in place of operator(); false reports the error kError
namespace millstream {

namespace elementwise {

using UnaryLoop = bool (*)(const void* x, void* y, int64_t n);
using BinaryLoop = bool (*)(const void* x, const void* y, void* z, int64_t n);

// Which arrays hold 16-bit floats that the loop wants as float.
enum class Narrow : uint8_t { kNo, kHalf, kBfloat16 };

template <typename Loop>
struct LoopInfo {
  Loop loop = nullptr;
  uint8_t in_size = 0;  // bytes of an element as stored
  uint8_t out_size = 0;
  Narrow in_narrow = Narrow::kNo;
  Narrow out_narrow = Narrow::kNo;
  bool plain = true;  // elements may be copied as bytes
  bool pairs = false;
  double cost = 0;
  const char* error = nullptr;  // what a loop that returns false means
};

template <typename Fn>
constexpr double Cost() {
  if constexpr (requires { Fn::kCost; })
    return Fn::kCost;
  else
    return 0.3;
}
template <typename Fn>
constexpr const char* Error() {
  if constexpr (requires { Fn::kError; })
    return Fn::kError;
  else
    return "";
}
template <typename Fn, typename T>
inline constexpr bool kVectorised = std::is_arithmetic_v<T> && !(requires { Fn::kLibm; }) &&
                                    !(std::is_same_v<T, double> && requires { Fn::kLibmDouble; });

// The type whose loop serves T.
template <typename Fn, typename T>
struct LoopType {
  using type = T;
};
template <typename Fn, typename T>
requires(kIsFloat16<T>) struct LoopType<Fn, T> {
  using type = float;
};
template <typename Fn, typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && requires { Fn::kModular; }) struct LoopType<Fn, T> {
  using type = std::make_unsigned_t<T>;
};
template <typename Fn>
requires(requires { Fn::kModular; }) struct LoopType<Fn, bool> {
  using type = uint8_t;
};

// Calls body(i) for every i < n, vectorised for T where that pays.
template <typename Fn, typename T, typename Body>
MILLSTREAM_ALWAYS_INLINE void ForEach(int64_t n, Body body) {
  if constexpr (kVectorised<Fn, T>) {
    simd::For<simd::VectorOf<T>>(0, n, body);
  } else {
    for (int64_t i = 0; i < n; ++i) body(i);
  }
}

template <typename Fn, typename T>
bool RunUnary(const void* xv, void* yv, int64_t n) {
  const T* x = static_cast<const T*>(xv);
  if constexpr (requires(T * y) { Fn::Array(x, y, n); }) {
    return Fn::Array(x, static_cast<T*>(yv), n);
  } else {
    using R = decltype(Fn()(T()));
    R* y = static_cast<R*>(yv);
    if (n == 1) {  // scalars are many: no choice of instruction set for them
      y[0] = Fn()(x[0]);
      return true;
    }
    ForEach<Fn, T>(n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { y[i] = Fn()(x[i]); });
    return true;
  }
}

template <typename Fn, typename T>
bool RunBinary(const void* xv, const void* yv, void* zv, int64_t n) {
  const T* x = static_cast<const T*>(xv);
  const T* y = static_cast<const T*>(yv);
  if constexpr (requires(T * z) { Fn::Array(x, y, z, n); }) {
    return Fn::Array(x, y, static_cast<T*>(zv), n);
  } else {
    using R = std::decay_t<decltype(Fn()(x[0], y[0]))>;
    R* z = static_cast<R*>(zv);
    if (n == 1) {
      z[0] = Fn()(x[0], y[0]);
      return true;
    }
    ForEach<Fn, T>(n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { z[i] = Fn()(x[i], y[i]); });
    return true;
  }
}

template <typename T>
constexpr Narrow NarrowOf() {
  return std::is_same_v<T, Half> ? Narrow::kHalf : std::is_same_v<T, BFloat16> ? Narrow::kBfloat16 : Narrow::kNo;
}

// R is what the loop writes.
template <typename Fn, typename T, typename R, typename Loop>
LoopInfo<Loop> Describe(Loop loop) {
  LoopInfo<Loop> info;
  info.loop = loop;
  info.in_size = sizeof(T);
  info.in_narrow = NarrowOf<T>();
  const bool narrow_out = kIsFloat16<T> && std::is_same_v<R, float>;
  info.out_size = narrow_out ? sizeof(T) : sizeof(R);
  info.out_narrow = narrow_out ? NarrowOf<T>() : Narrow::kNo;
  info.plain = std::is_trivially_copyable_v<T> || kIsComplex<T>;
  info.cost = Cost<Fn>() * (kIsComplex<T> ? 4 : 1) + (kIsFloat16<T> ? 1.0 : 0.0);
  info.error = Error<Fn>();
  info.pairs = requires { Fn::kPairs; };
  return info;
}

template <typename Fn, typename T>
LoopInfo<UnaryLoop> DescribeUnary() {
  using L = typename LoopType<Fn, T>::type;
  if constexpr (requires(const L* x, L* y) { Fn::Array(x, y, int64_t{}); }) {
    return Describe<Fn, T, L, UnaryLoop>(&RunUnary<Fn, L>);
  } else {
    return Describe<Fn, T, decltype(Fn()(L())), UnaryLoop>(&RunUnary<Fn, L>);
  }
}

template <typename Fn, typename T>
LoopInfo<BinaryLoop> DescribeBinary() {
  using L = typename LoopType<Fn, T>::type;
  if constexpr (requires(const L* x, L* z) { Fn::Array(x, x, z, int64_t{}); }) {
    return Describe<Fn, T, L, BinaryLoop>(&RunBinary<Fn, L>);
  } else {
    return Describe<Fn, T, std::decay_t<decltype(Fn()(L(), L()))>, BinaryLoop>(&RunBinary<Fn, L>);
  }
}

template <typename Fn, typename TypeList>
LoopInfo<UnaryLoop> SelectUnary(TypeList types, DType dtype) {
  LoopInfo<UnaryLoop> info;
  DispatchOver(types, dtype, [&](auto tag) { info = DescribeUnary<Fn, typename decltype(tag)::type>(); });
  return info;
}
// Runs a loop over arrays as stored.
bool Run(const LoopInfo<UnaryLoop>& info, const void* x, void* y, int64_t n);
bool Run(const LoopInfo<BinaryLoop>& info, const void* x, const void* y, void* z, int64_t n);

template <typename Fn, typename TypeList>
LoopInfo<BinaryLoop> SelectBinary(TypeList types, DType dtype) {
  LoopInfo<BinaryLoop> info;
  DispatchOver(types, dtype, [&](auto tag) { info = DescribeBinary<Fn, typename decltype(tag)::type>(); });
  return info;
}

}  // namespace elementwise

// y = f(x).
class UnaryKernel : public Kernel, public ElementKernel {
 public:
  explicit UnaryKernel(const elementwise::LoopInfo<elementwise::UnaryLoop>& info) : info_(info) {}
  Status Compute(KernelContext& ctx) final;
  bool RunElements(const void* const* operands, void* result, int64_t n) const final;
  double ElementCost() const final { return info_.cost; }

 private:
  const elementwise::LoopInfo<elementwise::UnaryLoop> info_;
};

// z = f(x, y) with NumPy broadcasting.
class BinaryKernel : public Kernel, public ElementKernel {
 public:
  explicit BinaryKernel(const elementwise::LoopInfo<elementwise::BinaryLoop>& info) : info_(info) {}
  Status Compute(KernelContext& ctx) override;
  bool RunElements(const void* const* operands, void* result, int64_t n) const final;
  double ElementCost() const final { return info_.cost; }

 protected:
  // Shapes that do not broadcast: the error, unless the op gives a result for them.
  virtual Status Incompatible(KernelContext&, Status error) { return error; }

 private:
  Status ComputeEqualShapes(KernelContext& ctx, const Tensor& x, const Tensor& y);
  Status ComputeWithScalar(KernelContext& ctx, const Tensor& x, const Tensor& y);
  Status ComputeBroadcast(KernelContext& ctx, const Tensor& x, const Tensor& y);
  Status Failed() const { return errors::InvalidArgument(info_.error); }
  const elementwise::LoopInfo<elementwise::BinaryLoop> info_;
};

template <typename Fn, typename TypeList>
class Unary final : public UnaryKernel {
 public:
  explicit Unary(KernelInit& init)
      : UnaryKernel(elementwise::SelectUnary<Fn>(TypeList{}, RemoveRef(init.input_types()[0]))) {}
};

template <typename Fn, typename TypeList>
class Binary final : public BinaryKernel {
 public:
  explicit Binary(KernelInit& init)
      : BinaryKernel(elementwise::SelectBinary<Fn>(TypeList{}, RemoveRef(init.input_types()[0]))) {}
};

// Base of functors for the gradient ops of unary functions.
struct PairFn {
  static constexpr bool kPairs = true;
};

using FloatComplexTypes = Join<FloatTypes, ComplexTypes>;
// What most of TensorFlow's unary ops take.
using SignedNumberTypes = Join<FloatComplexTypes, SignedTypes>;

// Declarations: of y = f(x), of z = f(x, y) with broadcasting, and of the gradient z = f(y, dy) of a unary function.
// `type` is the attribute of the elements.
#define UNARY_OP(Name, type) OP(Name).Input("x: T").Output("y: T").Attr(type).Shape(UnchangedShape)
#define BINARY_OP(Name, type) OP(Name).Input("x: T").Input("y: T").Output("z: T").Attr(type).Shape(BroadcastBinaryShape)
#define UNARY_GRAD_OP(Name, type) OP(Name).Input("y: T").Input("dy: T").Output("z: T").Attr(type).Shape(UnchangedShape)
inline constexpr char kFloatOrComplex[] = "T: {bfloat16, half, float, double, complex64, complex128}";

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_ELEMENTWISE_H_
