// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_SIMD_H_
#define MILLSTREAM_MATH_SIMD_H_

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "millstream/base/thread_pool.h"

// Plain loops, compiled once per instruction set and chosen at run time.
//
//   simd::For<float>(begin, end, [=](int64_t i) { y[i] = math::Exp(x[i]); });
//
// The loop is compiled for SSE2, for AVX2+FMA and for AVX-512, vectorised by
// the compiler (also at -O2), and the best version for this machine runs. Rules
// for the bodies:
//  - capture by value ([=]): captured references would have to be read again
//  after every store;
//  - no branches, no calls except to functions marked MILLSTREAM_ALWAYS_INLINE
//  (vector_math.h): choose by `c ? a : b`;
//  - iterations are independent. An output may be the same array as an input,
//  but may not overlap it otherwise.
// For other element types than float and double the same code compiles to the
// baseline alone.
//
// Nothing here needs -march; results may differ in the last bit between
// instruction sets, because of fused multiply-adds.
// MILLSTREAM_ISA=sse2|avx2|avx512 in the environment lowers the choice.

#define MILLSTREAM_ALWAYS_INLINE inline __attribute__((always_inline))

// Stands before a `for` whose iterations do not depend on each other, outputs
// equal to inputs included.
#if defined(__clang__)
// Whether a loop could be vectorised is a matter of speed, not a warning.
#pragma clang diagnostic ignored "-Wpass-failed"
#define MILLSTREAM_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define MILLSTREAM_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif

#if defined(__clang__)
#define MILLSTREAM_SIMD_OPTIMIZE_
#define MILLSTREAM_SIMD_WIDE_
#else
// GCC 12 vectorises at -O2 only loops without a remainder.
#define MILLSTREAM_SIMD_OPTIMIZE_ , optimize("O3")
#define MILLSTREAM_SIMD_WIDE_ ",prefer-vector-width=512"
#endif
#if defined(__x86_64__)
#define MILLSTREAM_SIMD_SSE2_ __attribute__((noinline, flatten MILLSTREAM_SIMD_OPTIMIZE_))
#define MILLSTREAM_SIMD_AVX2_ __attribute__((noinline, flatten, target("avx2,fma,f16c") MILLSTREAM_SIMD_OPTIMIZE_))
#define MILLSTREAM_SIMD_AVX512_                                        \
  __attribute__((noinline, flatten,                                    \
                 target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma," \
                        "f16c" MILLSTREAM_SIMD_WIDE_) MILLSTREAM_SIMD_OPTIMIZE_))
#else
#define MILLSTREAM_SIMD_SSE2_ __attribute__((noinline, flatten MILLSTREAM_SIMD_OPTIMIZE_))
#define MILLSTREAM_SIMD_AVX2_ MILLSTREAM_SIMD_SSE2_
#define MILLSTREAM_SIMD_AVX512_ MILLSTREAM_SIMD_SSE2_
#endif

namespace millstream::simd {

enum class Isa : int { kSse2, kAvx2, kAvx512 };

// The best level that both this machine and MILLSTREAM_ISA allow.
Isa BestIsa();

namespace internal {
// BestIsa() after the first use; kUndecided before.
constexpr int kUndecided = -1;
extern std::atomic<int> active_isa;
Isa DecideIsa();
}  // namespace internal

// The level that For() and Run() use.
inline Isa ActiveIsa() {
  const int isa = internal::active_isa.load(std::memory_order_relaxed);
  if (isa != internal::kUndecided) [[likely]]
    return static_cast<Isa>(isa);
  return internal::DecideIsa();
}

// For tests: all threads use `isa`, or BestIsa() if that is less, during the
// lifetime of this object.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa);
  ~ScopedIsa();
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  const int previous_;
};

// Element types whose loops are compiled for every instruction set.
template <typename T>
inline constexpr bool kMultiIsa = std::is_same_v<T, float> || std::is_same_v<T, double>;

namespace internal {

template <typename F>
MILLSTREAM_SIMD_SSE2_ void ForSse2(int64_t begin, int64_t end, F f) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t i = begin; i < end; ++i) f(i);
}
template <typename F>
MILLSTREAM_SIMD_AVX2_ void ForAvx2(int64_t begin, int64_t end, F f) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t i = begin; i < end; ++i) f(i);
}
template <typename F>
MILLSTREAM_SIMD_AVX512_ void ForAvx512(int64_t begin, int64_t end, F f) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t i = begin; i < end; ++i) f(i);
}

template <typename F>
MILLSTREAM_SIMD_SSE2_ auto RunSse2(F body) {
  return body();
}
template <typename F>
MILLSTREAM_SIMD_AVX2_ auto RunAvx2(F body) {
  return body();
}
template <typename F>
MILLSTREAM_SIMD_AVX512_ auto RunAvx512(F body) {
  return body();
}

}  // namespace internal

// Calls f(i) for begin <= i < end, under the rules above. T is the element type
// of the arithmetic: For<float> also suits loops over half-precision arrays
// that compute in float.
template <typename T, typename F>
inline void For(int64_t begin, int64_t end, F f) {
  if constexpr (kMultiIsa<T>) {
    const Isa isa = ActiveIsa();
    if (isa == Isa::kAvx512) return internal::ForAvx512(begin, end, std::move(f));
    if (isa == Isa::kAvx2) return internal::ForAvx2(begin, end, std::move(f));
  }
  internal::ForSse2(begin, end, std::move(f));
}

// Returns body(), compiled like the loop above. Loops inside want
// MILLSTREAM_INDEPENDENT_LOOP where it holds; functions called by the body want
// MILLSTREAM_ALWAYS_INLINE (lambdas: MILLSTREAM_INLINE_LAMBDA).
template <typename T, typename F>
inline auto Run(F body) {
  if constexpr (kMultiIsa<T>) {
    const Isa isa = ActiveIsa();
    if (isa == Isa::kAvx512) return internal::RunAvx512(std::move(body));
    if (isa == Isa::kAvx2) return internal::RunAvx2(std::move(body));
  }
  return internal::RunSse2(std::move(body));
}

// The type to compute in for elements of type T: float for 16-bit floats
// (classes of two bytes that convert to float), T otherwise.
template <typename T>
using Wide = std::conditional_t<std::is_class_v<T> && sizeof(T) == 2 && std::is_convertible_v<T, float>, float, T>;

// For<T>() over [0, n), split between the threads of `pool`; on this thread
// alone if `pool` is null. `cost` is that of one element in nanoseconds.
template <typename T, typename F>
inline void ParallelFor(ThreadPool* pool, int64_t n, double cost, F f) {
  if (pool == nullptr) return For<T>(0, n, std::move(f));
  pool->ParallelFor(
      n, cost, [&f](int64_t begin, int64_t end) { For<T>(begin, end, f); },
      /*align=*/64);
}

// Stands between the parameters and the body of a lambda.
#define MILLSTREAM_INLINE_LAMBDA __attribute__((always_inline))

}  // namespace millstream::simd

#endif  // MILLSTREAM_MATH_SIMD_H_
