// SPDX-License-Identifier: Apache-2.0
// Squares of numbers that are transposed in vector registers. Private to the sources that include it, and inlined there
// into functions compiled for one instruction set.
#ifndef MILLSTREAM_MATH_TURN_INL_H_
#define MILLSTREAM_MATH_TURN_INL_H_

#include <cstring>
#include <utility>

#include "millstream/math/simd.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions alone
#endif

namespace millstream::math {
namespace {

// The vector of kBytes bytes of numbers of type T, and how many there are in V.
template <typename T, int kBytes>
struct VectorOf {
  using type __attribute__((vector_size(kBytes))) = T;
};
template <typename T, typename V>
inline constexpr int kLanes = sizeof(V) / sizeof(T);

// Bit kBit of a lane's number changes places with the question which of the two vectors it is in.
template <int kBit, typename V, int... l>
MILLSTREAM_ALWAYS_INLINE void ExchangeLanes(V* a, V* b, std::integer_sequence<int, l...>) {
  constexpr int kWidth = sizeof...(l), kStep = 1 << kBit;
  const V low = __builtin_shufflevector(*a, *b, (l & kStep ? kWidth + l - kStep : l)...);
  *b = __builtin_shufflevector(*a, *b, (l & kStep ? kWidth + l : l + kStep)...);
  *a = low;
}

template <int kBit, typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void ExchangeBit(V* v) {
  constexpr int kWidth = kLanes<T, V>;
  for (int i = 0; i < kWidth; ++i) {
    if ((i >> kBit & 1) == 0)
      ExchangeLanes<kBit>(v + i, v + i + (1 << kBit), std::make_integer_sequence<int, kWidth>());
  }
}

// Lane j of v[i] changes places with lane i of v[j]; there are as many vectors as lanes.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void TurnSquare(V* v) {
  constexpr int kWidth = kLanes<T, V>;
  if constexpr (kWidth >= 32) ExchangeBit<4, T>(v);
  if constexpr (kWidth >= 16) ExchangeBit<3, T>(v);
  if constexpr (kWidth >= 8) ExchangeBit<2, T>(v);
  if constexpr (kWidth >= 4) ExchangeBit<1, T>(v);
  ExchangeBit<0, T>(v);
}

template <typename V, int... l>
MILLSTREAM_ALWAYS_INLINE void SplitLanes(const V& a, const V& b, V* even, V* odd, std::integer_sequence<int, l...>) {
  *even = __builtin_shufflevector(a, b, 2 * l...);
  *odd = __builtin_shufflevector(a, b, 2 * l + 1 ...);
}
template <typename V, int... l>
MILLSTREAM_ALWAYS_INLINE void MixLanes(const V& even, const V& odd, V* a, V* b, std::integer_sequence<int, l...>) {
  constexpr int kWidth = sizeof...(l);
  *a = __builtin_shufflevector(even, odd, (l / 2 + l % 2 * kWidth)...);
  *b = __builtin_shufflevector(even, odd, (kWidth / 2 + l / 2 + l % 2 * kWidth)...);
}

// The numbers at even and at odd places of two vectors that follow each other, and back.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void SplitPlaces(const V& a, const V& b, V* even, V* odd) {
  SplitLanes(a, b, even, odd, std::make_integer_sequence<int, kLanes<T, V>>());
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void MixPlaces(const V& even, const V& odd, V* a, V* b) {
  MixLanes(even, odd, a, b, std::make_integer_sequence<int, kLanes<T, V>>());
}

template <typename V, typename T>
MILLSTREAM_ALWAYS_INLINE V LoadVector(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof(V));
  return v;
}
template <typename V, typename T>
MILLSTREAM_ALWAYS_INLINE void StoreVector(const V& v, T* to) {
  std::memcpy(to, &v, sizeof(V));
}

}  // namespace
}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_TURN_INL_H_
