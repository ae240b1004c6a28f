// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_GENERIC_H_
#define MILLSTREAM_MATH_GEMM_GEMM_GENERIC_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "millstream/math/gemm/gemm.h"

namespace millstream::math {

// The type in which sums of T are kept: T itself for arithmetic and complex
// types, float for the 16-bit floats, which must convert to and from float.
template <typename T>
struct AccumulatorOf {
  using Type = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
};
template <typename R>
struct AccumulatorOf<std::complex<R>> {
  using Type = std::complex<R>;
};

namespace internal {

template <typename T>
inline T Conjugate(const T& x, bool) {
  return x;
}
template <typename R>
inline std::complex<R> Conjugate(const std::complex<R>& x, bool conjugate) {
  return conjugate ? std::conj(x) : x;
}

template <typename Acc>
inline Acc Activate(Acc x, Activation activation) {
  if (activation == Activation::kNone || x > Acc(6)) return activation == Activation::kRelu6 ? Acc(6) : x;
  return x < Acc(0) ? Acc(0) : x;
}
template <typename R>
inline std::complex<R> Activate(std::complex<R> x, Activation) {
  return x;
}

// Integers wrap around as TensorFlow's do; signed overflow must not be
// undefined behaviour.
template <typename Acc>
inline Acc MultiplyAdd(Acc x, Acc y, Acc sum) {
  if constexpr (std::is_integral_v<Acc>) {
    using U = std::conditional_t<(sizeof(Acc) < 4), uint32_t, std::make_unsigned_t<Acc>>;
    return static_cast<Acc>(static_cast<U>(x) * static_cast<U>(y) + static_cast<U>(sum));
  } else {
    return x * y + sum;
  }
}

// Row `i` of C, a strip of columns at a time so that the sums stay in registers
// or the first-level cache.
template <typename T>
void GenericRow(const GemmArgs<T>& g, int64_t lda, int64_t ldb, int64_t ldc, int64_t i) {
  using Acc = typename AccumulatorOf<T>::Type;
  constexpr int64_t kStrip = 64;
  for (int64_t first = 0; first < g.n; first += kStrip) {
    const int64_t cols = std::min(kStrip, g.n - first);
    Acc sums[kStrip] = {};
    for (int64_t p = 0; p < g.k; ++p) {
      const Acc x = Conjugate(static_cast<Acc>(g.a[g.trans_a ? p * lda + i : i * lda + p]), g.conj_a);
      const T* b = g.trans_b ? g.b + first * ldb + p : g.b + p * ldb + first;
      const int64_t step = g.trans_b ? ldb : 1;
      for (int64_t j = 0; j < cols; ++j) {
        sums[j] = MultiplyAdd(x, Conjugate(static_cast<Acc>(b[j * step]), g.conj_b), sums[j]);
      }
    }
    T* c = g.c + i * ldc + first;
    for (int64_t j = 0; j < cols; ++j) {
      Acc x = MultiplyAdd(static_cast<Acc>(g.alpha), sums[j], g.accumulate ? static_cast<Acc>(c[j]) : Acc(0));
      if (g.bias != nullptr) x = MultiplyAdd(Acc(1), x, static_cast<Acc>(g.bias[first + j]));
      c[j] = static_cast<T>(Activate(x, g.activation));
    }
  }
}

}  // namespace internal

// Gemm() for any other element type (integers, complex, 16-bit floats): plain
// loops, parallel over the rows of C.
template <typename T>
void GemmGeneric(const GemmArgs<T>& args, ThreadPool* pool) {
  const int64_t lda = args.lda != 0 ? args.lda : args.trans_a ? args.m : args.k;
  const int64_t ldb = args.ldb != 0 ? args.ldb : args.trans_b ? args.k : args.n;
  const int64_t ldc = args.ldc != 0 ? args.ldc : args.n;
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) internal::GenericRow(args, lda, ldb, ldc, i);
  };
  if (pool == nullptr) return rows(0, args.m);
  pool->ParallelFor(args.m, 0.5 * static_cast<double>(args.n) * static_cast<double>(args.k), rows);
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_GENERIC_H_
