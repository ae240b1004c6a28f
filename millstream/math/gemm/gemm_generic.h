// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_GEMM_GEMM_GENERIC_H_
#define MILLSTREAM_MATH_GEMM_GEMM_GENERIC_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "millstream/math/gemm/gemm.h"
#include "millstream/math/simd.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions alone
#endif

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

// Stores the sums of columns [first, first + cols) of row `i`.
template <typename T, typename Sum>
MILLSTREAM_ALWAYS_INLINE void FinishRow(const GemmArgs<T>& g, int64_t ldc, int64_t i, int64_t first, int64_t cols,
                                        const Sum* sums) {
  using Acc = typename AccumulatorOf<T>::Type;
  T* c = g.c + i * ldc + first;
  for (int64_t j = 0; j < cols; ++j) {
    const Acc sum = static_cast<Acc>(sums[j]);
    Acc x = MultiplyAdd(static_cast<Acc>(g.alpha), sum, g.accumulate ? static_cast<Acc>(c[j]) : Acc(0));
    if (g.bias != nullptr) x = MultiplyAdd(Acc(1), x, static_cast<Acc>(g.bias[first + j]));
    c[j] = static_cast<T>(Activate(x, g.activation));
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
    FinishRow(g, ldc, i, first, cols, sums);
  }
}

// Products of integers in vectors: a block of B is laid out in strips as wide as the sums of a few rows of A that
// registers hold. Unsigned, since sums wrap.
template <typename T>
class IntegerRows {
 public:
  IntegerRows(const GemmArgs<T>& g, int64_t lda, int64_t ldb, int64_t ldc)
      : g_(g), a_row_(g.trans_a ? 1 : lda), a_col_(g.trans_a ? lda : 1), ldb_(ldb), ldc_(ldc) {}

  // Rows [begin, end) of C.
  void Run(int64_t begin, int64_t end) const {
    std::vector<U> strip(static_cast<size_t>(std::min(kDepth, g_.k) * kStrip));
    std::vector<U> sums(static_cast<size_t>((end - begin) * kStrip));
    for (int64_t first = 0; first < g_.n; first += kStrip) {
      const int64_t cols = std::min(kStrip, g_.n - first);
      std::fill(sums.begin(), sums.end(), U{0});
      for (int64_t p = 0; p < g_.k; p += kDepth) {
        const int64_t depth = std::min(kDepth, g_.k - p);
        Pack(p, depth, first, cols, strip.data());
        simd::Run<float>([=, this, packed = strip.data(), to = sums.data()]() MILLSTREAM_INLINE_LAMBDA {
          int64_t i = begin;
          for (; i + kRows <= end; i += kRows) AddRows<kRows>(i, p, depth, packed, to + (i - begin) * kStrip);
          for (; i < end; ++i) AddRows<1>(i, p, depth, packed, to + (i - begin) * kStrip);
          return 0;
        });
      }
      for (int64_t i = begin; i < end; ++i) FinishRow(g_, ldc_, i, first, cols, sums.data() + (i - begin) * kStrip);
    }
  }

 private:
  using U = std::make_unsigned_t<T>;
  using Vector __attribute__((vector_size(64))) = U;
  static constexpr int kLanes = 64 / sizeof(U), kVectors = 2, kRows = 4;
  static constexpr int64_t kStrip = kVectors * kLanes, kDepth = 256;

  // Rows [p, p + depth) of B, columns [first, first + cols), with zeros after them.
  void Pack(int64_t p, int64_t depth, int64_t first, int64_t cols, U* strip) const {
    const int64_t row = g_.trans_b ? 1 : ldb_, col = g_.trans_b ? ldb_ : 1;
    const T* from = g_.b + p * row + first * col;
    for (int64_t r = 0; r < depth; ++r, from += row, strip += kStrip) {
      for (int64_t j = 0; j < cols; ++j) strip[j] = static_cast<U>(from[j * col]);
      std::fill(strip + cols, strip + kStrip, U{0});
    }
  }

  template <int rows>
  MILLSTREAM_ALWAYS_INLINE void AddRows(int64_t i, int64_t p, int64_t depth, const U* strip, U* to) const {
    const T* a = g_.a + i * a_row_ + p * a_col_;
    Vector sums[rows][kVectors] = {};
    for (int64_t d = 0; d < depth; ++d, a += a_col_, strip += kStrip) {
      Vector b[kVectors];
      std::memcpy(b, strip, sizeof(b));
      for (int r = 0; r < rows; ++r) {
        const U x = static_cast<U>(a[r * a_row_]);
        for (int v = 0; v < kVectors; ++v) sums[r][v] += b[v] * x;
      }
    }
    for (int r = 0; r < rows; ++r, to += kStrip) {
      for (int v = 0; v < kVectors; ++v) {
        Vector old;
        std::memcpy(&old, to + v * kLanes, sizeof(old));
        old += sums[r][v];
        std::memcpy(to + v * kLanes, &old, sizeof(old));
      }
    }
  }

  const GemmArgs<T>& g_;
  const int64_t a_row_, a_col_, ldb_, ldc_;
};

}  // namespace internal

// Gemm() for any other element type (integers, complex, 16-bit floats): plain
// loops, vectors for integers, parallel over the rows of C.
template <typename T>
void GemmGeneric(const GemmArgs<T>& args, ThreadPool* pool) {
  const int64_t lda = args.lda != 0 ? args.lda : args.trans_a ? args.m : args.k;
  const int64_t ldb = args.ldb != 0 ? args.ldb : args.trans_b ? args.k : args.n;
  const int64_t ldc = args.ldc != 0 ? args.ldc : args.n;
  const auto rows = [&](int64_t begin, int64_t end) {
    if constexpr (std::is_integral_v<T>) {
      internal::IntegerRows<T>(args, lda, ldb, ldc).Run(begin, end);
    } else {
      for (int64_t i = begin; i < end; ++i) internal::GenericRow(args, lda, ldb, ldc, i);
    }
  };
  if (pool == nullptr) return rows(0, args.m);
  const double cost = (std::is_integral_v<T> ? 0.05 : 0.5) * static_cast<double>(args.n) * static_cast<double>(args.k);
  pool->ParallelFor(args.m, cost, rows, std::is_integral_v<T> ? 4 : 1);
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_GEMM_GEMM_GENERIC_H_
