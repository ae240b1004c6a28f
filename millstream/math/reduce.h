// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_REDUCE_H_
#define MILLSTREAM_MATH_REDUCE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "millstream/base/thread_pool.h"
#include "millstream/math/simd.h"

namespace millstream::math {

// A contiguous array [outer, reduce, inner] whose middle dimension is reduced:
// inner = 1 gives row reductions, outer = 1 column reductions.
struct ReduceShape {
  int64_t outer = 1;
  int64_t reduce = 1;
  int64_t inner = 1;
};

// out[o, i] = op over r of in[o, r, i], where `Op` is a type of namespace
// reduction: Reduce<reduction::Sum>(in, out, {1, 100, 500}, pool).
//
// 16-bit floats are reduced in float and rounded once, floats by blocks whose
// results are summed in double, signed integers wrap around. The result depends
// on the shape but not on the number of threads. An empty reduction gives the
// op's neutral element (Mean: NaN, or 0 for integers). Null `pool`: this thread
// alone. `out` must not overlap `in`.
template <typename Op, typename T>
void Reduce(const T* in, T* out, const ReduceShape& shape, ThreadPool* pool);

namespace reduction {

// Each op has Map (of an element), Combine (of partial results), Neutral, and
// Finish (with the number of elements). A is the type of partial results; Core
// is the op that differs at most by its Finish.

struct Sum {
  using Core = Sum;
  template <typename A>
  static A Neutral() {
    return A(0);
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Map(A x) {
    return x;
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Combine(A a, A b) {
    return a + b;
  }
  template <typename T, typename A>
  static T Finish(A a, int64_t) {
    return T(a);
  }
};

struct SumSquares : Sum {
  using Core = SumSquares;
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Map(A x) {
    return x * x;
  }
};

struct Mean : Sum {
  template <typename T, typename A>
  static T Finish(A a, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      return count == 0 ? T(0) : static_cast<T>(T(a) / T(count));
    } else {
      return T(a / A(static_cast<double>(count)));
    }
  }
};

struct Prod {
  using Core = Prod;
  template <typename A>
  static A Neutral() {
    return A(1);
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Map(A x) {
    return x;
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Combine(A a, A b) {
    if constexpr (requires { a.imag(); }) {
      // Without the operator's look at every product whether infinities made it NaN.
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    } else {
      return a * b;
    }
  }
  template <typename T, typename A>
  static T Finish(A a, int64_t) {
    return T(a);
  }
};

// NaN wins over numbers.
struct Max {
  using Core = Max;
  template <typename A>
  static A Neutral() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Map(A x) {
    return x;
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Combine(A a, A b) {
    const A larger = a > b ? a : b;
    return a != a ? a : larger;
  }
  template <typename T, typename A>
  static T Finish(A a, int64_t) {
    return T(a);
  }
};

struct Min {
  using Core = Min;
  template <typename A>
  static A Neutral() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Map(A x) {
    return x;
  }
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Combine(A a, A b) {
    const A smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
  template <typename T, typename A>
  static T Finish(A a, int64_t) {
    return T(a);
  }
};

// For bool, whose partial results are bytes 0 and 1.
struct All : Prod {
  using Core = All;
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Combine(A a, A b) {
    return a & b;
  }
};
struct Any : Sum {
  using Core = Any;
  template <typename A>
  MILLSTREAM_ALWAYS_INLINE static A Combine(A a, A b) {
    return a | b;
  }
};

}  // namespace reduction

}  // namespace millstream::math

#include "millstream/math/reduce_inl.h"

#endif  // MILLSTREAM_MATH_REDUCE_H_
