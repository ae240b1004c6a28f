// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/reduce.h"

#include <type_traits>

#include "millstream/math/simd.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::collective {
namespace {

using ReducibleTypes = Types<Half, BFloat16, float, double, int32_t, int64_t>;

// Signed overflow is undefined, so integers are added and multiplied as unsigned ones.
template <typename T>
MILLSTREAM_ALWAYS_INLINE T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
MILLSTREAM_ALWAYS_INLINE T Times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

struct Sum {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Of(T a, T b) {
    return Plus(a, b);
  }
};
struct Product {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Of(T a, T b) {
    return Times(a, b);
  }
};
// `a != a` is false for every integer, and compilers know it.
struct Min {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Of(T a, T b) {
    const T less = a < b ? a : b;
    return a != a ? a : less;
  }
};
struct Max {
  template <typename T>
  MILLSTREAM_ALWAYS_INLINE static T Of(T a, T b) {
    const T more = a > b ? a : b;
    return a != a ? a : more;
  }
};

template <typename Op, typename T>
void CombineAs(T* out, const T* a, const T* b, int64_t n) {
  using W = Compute<T>;
  simd::For<W>(0, n, [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
    out[i] = static_cast<T>(Op::Of(static_cast<W>(a[i]), static_cast<W>(b[i])));
  });
}

template <typename T>
void CombineBy(ReduceOp op, T* out, const T* a, const T* b, int64_t n) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return CombineAs<Sum>(out, a, b, n);
    case ReduceOp::kMin:
      return CombineAs<Min>(out, a, b, n);
    case ReduceOp::kMax:
      return CombineAs<Max>(out, a, b, n);
    case ReduceOp::kProduct:
      return CombineAs<Product>(out, a, b, n);
  }
}

}  // namespace

bool CanReduce(DType dtype) {
  return DispatchOver(ReducibleTypes{}, dtype, [](auto) {});
}

void Combine(ReduceOp op, DType dtype, void* out, const void* a, const void* b, int64_t n) {
  DispatchOver(ReducibleTypes{}, dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    CombineBy(op, static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b), n);
  });
}

void ReduceInto(ReduceOp op, DType dtype, void* into, const void* other, int64_t n) {
  Combine(op, dtype, into, into, other, n);
}

void ReduceFrom(ReduceOp op, DType dtype, void* into, const void* other, int64_t n) {
  Combine(op, dtype, into, other, into, n);
}

void Finish(ReduceOp op, DType dtype, void* data, int64_t n, int ranks) {
  if (op != ReduceOp::kMean || ranks == 1) return;
  DispatchOver(ReducibleTypes{}, dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    using W = Compute<T>;
    T* const x = static_cast<T*>(data);
    const W count = static_cast<W>(ranks);
    simd::For<W>(0, n,
                 [=](int64_t i) MILLSTREAM_INLINE_LAMBDA { x[i] = static_cast<T>(static_cast<W>(x[i]) / count); });
  });
}

}  // namespace millstream::collective
