// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_POOL_INL_H_
#define MILLSTREAM_MATH_CONV_POOL_INL_H_

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "millstream/math/conv/pool_lines_inl.h"

// The functions of pool.h, for any arithmetic element type. Windows are done for a block of channels at a time, whose
// maxima or sums stay in registers.
namespace millstream::math {
namespace internal {

// Vectors by hand, as long as those of AVX-512: for shorter ones the compiler takes comparisons apart.
template <typename T, int kChannels>
struct PoolVector {
  using type __attribute__((vector_size(kChannels * sizeof(T)))) = T;
};
template <typename T>
struct PoolVector<T, 1> {
  using type = T;
};

template <int kChannels, typename T>
MILLSTREAM_ALWAYS_INLINE void MaximumBlock(const PoolShape& s, const PoolWindow& w, const T* first, T* maxima) {
  using V = typename PoolVector<T, kChannels>::type;
  V best;
  std::memcpy(&best, first, sizeof(V));
  ForEachPixelAfterFirst(s, w, first, [&](const T* from, int64_t, int64_t) MILLSTREAM_INLINE_LAMBDA {
    V value;
    std::memcpy(&value, from, sizeof(V));
    best = value > best ? value : best;
  });
  std::memcpy(maxima, &best, sizeof(V));
}

// maxima[i] = max(maxima[i], from[i]). Loops of a length that the compiler knows have no remainders.
template <typename T>
MILLSTREAM_ALWAYS_INLINE void TakeMaxima(const T* from, int64_t n, T* __restrict maxima) {
  if (n == kPoolChannels) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t i = 0; i < kPoolChannels; ++i) maxima[i] = from[i] > maxima[i] ? from[i] : maxima[i];
  } else {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t i = 0; i < n; ++i) maxima[i] = from[i] > maxima[i] ? from[i] : maxima[i];
  }
}

// The maxima of one window, of n channels.
template <typename T>
MILLSTREAM_ALWAYS_INLINE void MaxWindow(const PoolShape& s, const PoolWindow& w, int64_t n, const T* first, T* maxima) {
  T best[kPoolChannels];
  std::copy_n(first, n, best);
  ForEachPixelAfterFirst(s, w, first,
                         [&](const T* from, int64_t, int64_t) MILLSTREAM_INLINE_LAMBDA { TakeMaxima(from, n, best); });
  std::copy_n(best, n, maxima);
}

// at[i]: how many pixels of the image lie between the first one and the maximum.
template <int kChannels, typename T, typename Index>
MILLSTREAM_ALWAYS_INLINE void ArgmaxBlock(const PoolShape& s, const PoolWindow& w, const T* first, T* maxima,
                                          Index* at) {
  using Acc = typename AccumulatorOf<T>::Type;
  T best[kChannels];
  for (int i = 0; i < kChannels; ++i) best[i] = first[i], at[i] = 0;
  ForEachPixelAfterFirst(s, w, first, [&](const T* from, int64_t y, int64_t x) MILLSTREAM_INLINE_LAMBDA {
    const auto pixel = static_cast<Index>((y - w.top) * s.in_width + x - w.left);
    MILLSTREAM_INDEPENDENT_LOOP
    for (int i = 0; i < kChannels; ++i) {
      const bool greater = static_cast<Acc>(from[i]) > static_cast<Acc>(best[i]);
      best[i] = greater ? from[i] : best[i];
      at[i] = greater ? pixel : at[i];
    }
  });
  for (int i = 0; i < kChannels; ++i) maxima[i] = best[i];
}

// Gives what is left of the gradient where the pixel is the maximum. A NaN in the first pixel of a window is its
// maximum, since nothing is greater. Loops of a length that the compiler knows have no remainders.
template <bool add, bool is_first, typename T>
MILLSTREAM_ALWAYS_INLINE void GiveIfMaximum(const T* from, const T* maxima, int64_t n, T* __restrict left,
                                            T* __restrict to) {
  const auto give = [=](int64_t i) MILLSTREAM_INLINE_LAMBDA {
    const bool found = from[i] == maxima[i] || (is_first && from[i] != from[i]);
    const T given = found ? left[i] : T(0);
    to[i] = static_cast<T>(add ? to[i] + given : given);
    left[i] = found ? T(0) : left[i];
  };
  if (n == kPoolChannels) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t i = 0; i < kPoolChannels; ++i) give(i);
  } else {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t i = 0; i < n; ++i) give(i);
  }
}

template <bool add, typename V, typename T>
MILLSTREAM_ALWAYS_INLINE void StoreOrAdd(V given, T* target) {
  if (add) {
    V before;
    std::memcpy(&before, target, sizeof(V));
    given += before;
  }
  std::memcpy(target, &given, sizeof(V));
}

// The same for kChannels channels of one window, with what is left in a register. Choices are of comparisons
// themselves, and vectors are passed by value: GCC takes others apart.
template <bool add, int kChannels, typename T>
MILLSTREAM_ALWAYS_INLINE void MaxGradBlock(const PoolShape& s, const PoolWindow& w, const T* first, const T* maxima,
                                           const T* out_grad, T* to) {
  using V = typename PoolVector<T, kChannels>::type;
  V maximum, left, pixel;
  std::memcpy(&maximum, maxima, sizeof(V));
  std::memcpy(&left, out_grad, sizeof(V));
  const V zero{};
  std::memcpy(&pixel, first, sizeof(V));
  const V rest = pixel != pixel ? left : zero;  // a NaN in the first pixel
  StoreOrAdd<add, V>(pixel == maximum ? left : rest, to);
  left = pixel == maximum ? zero : left - rest;
  ForEachPixelAfterFirst(s, w, first, [&](const T* from, int64_t, int64_t) MILLSTREAM_INLINE_LAMBDA {
    std::memcpy(&pixel, from, sizeof(V));
    StoreOrAdd<add, V>(pixel == maximum ? left : zero, to + (from - first));
    left = pixel == maximum ? zero : left;
  });
}

// The gradient of one window goes to its first maximum.
template <bool add, typename T>
MILLSTREAM_ALWAYS_INLINE void MaxGradWindow(const PoolShape& s, const PoolWindow& w, int64_t n, const T* first,
                                            const T* maxima, const T* out_grad, T* to) {
  T left[kPoolChannels];  // the gradient until its maximum is found, then zero
  std::copy_n(out_grad, n, left);
  GiveIfMaximum<add, true>(first, maxima, n, left, to);
  ForEachPixelAfterFirst(s, w, first, [&](const T* from, int64_t, int64_t) MILLSTREAM_INLINE_LAMBDA {
    GiveIfMaximum<add, false>(from, maxima, n, left, to + (from - first));
  });
}

template <int kChannels, typename T>
MILLSTREAM_ALWAYS_INLINE void PickBlock(const PoolShape& s, const PoolWindow& w, const T* first, const T* maximum,
                                        const T* grad, T* picked) {
  using Acc = typename AccumulatorOf<T>::Type;
  T result[kChannels];
  Acc wanted[kChannels];
  bool searching[kChannels];
  const auto look = [&](const T* from) MILLSTREAM_INLINE_LAMBDA {
    for (int i = 0; i < kChannels; ++i) {
      const bool found = searching[i] && static_cast<Acc>(from[i]) == wanted[i];
      result[i] = found ? grad[from - first + i] : result[i];
      searching[i] = searching[i] && !found;
    }
  };
  for (int i = 0; i < kChannels; ++i) {
    wanted[i] = static_cast<Acc>(maximum[i]), result[i] = T(0), searching[i] = true;
  }
  look(first);
  ForEachPixelAfterFirst(s, w, first, [&](const T* from, int64_t, int64_t) MILLSTREAM_INLINE_LAMBDA { look(from); });
  for (int i = 0; i < kChannels; ++i) picked[i] = result[i];
}

template <int kChannels, typename T>
MILLSTREAM_ALWAYS_INLINE void AverageBlock(const PoolShape& s, const PoolWindow& w, const T* first, T* averages) {
  using Acc = typename AccumulatorOf<T>::Type;
  Acc sums[kChannels] = {};
  for (int64_t y = w.top; y < w.bottom; ++y, first += s.in_width * s.channels) {
    const T* pixel = first;
    for (int64_t x = w.left; x < w.right; ++x, pixel += s.channels) {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int i = 0; i < kChannels; ++i) sums[i] += static_cast<Acc>(pixel[i]);
    }
  }
  const Acc count = static_cast<Acc>(w.size());
  MILLSTREAM_INDEPENDENT_LOOP
  for (int i = 0; i < kChannels; ++i) averages[i] = static_cast<T>(sums[i] / count);
}

template <int kChannels, bool add, typename T>
MILLSTREAM_ALWAYS_INLINE void AverageGradBlock(const PoolShape& s, const PoolWindow& w, const T* out_grad, T* to) {
  using Acc = typename AccumulatorOf<T>::Type;
  Acc share[kChannels];
  const Acc count = static_cast<Acc>(w.size());
  for (int i = 0; i < kChannels; ++i) share[i] = static_cast<Acc>(out_grad[i]) / count;
  for (int64_t y = w.top; y < w.bottom; ++y, to += s.in_width * s.channels) {
    T* pixel = to;
    for (int64_t x = w.left; x < w.right; ++x, pixel += s.channels) {
      MILLSTREAM_INDEPENDENT_LOOP
      for (int i = 0; i < kChannels; ++i) {
        pixel[i] = static_cast<T>(add ? static_cast<Acc>(pixel[i]) + share[i] : share[i]);
      }
    }
  }
}

}  // namespace internal

template <typename T>
void MaxPool(const PoolShape& s, const T* input, T* output, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  if (s.channels < internal::kFewChannels) {
    return internal::ForLines(
        s, pool, [=](int64_t begin, int64_t end) { internal::MaximumLines(s, input, output, begin, end); });
  }
  if (simd::ActiveIsa() == simd::Isa::kAvx512) {
    return internal::ForEachWindow<Acc>(
        s, pool, [=](const internal::PoolWindow& w, int64_t corner, int64_t out) MILLSTREAM_INLINE_LAMBDA {
          internal::ForEachBlock<T>(0, s.channels, [=]<int kChannels>(int64_t c) MILLSTREAM_INLINE_LAMBDA {
            internal::MaximumBlock<kChannels>(s, w, input + corner + c, output + out + c);
          });
        });
  }
  internal::ForEachWindow<Acc>(
      s, pool, [=](const internal::PoolWindow& w, int64_t corner, int64_t out) MILLSTREAM_INLINE_LAMBDA {
        for (int64_t c = 0; c < s.channels; c += internal::kPoolChannels) {
          const int64_t n = std::min(internal::kPoolChannels, s.channels - c);
          internal::MaxWindow(s, w, n, input + corner + c, output + out + c);
        }
      });
}

namespace internal {

template <typename Index, typename T>
void RunArgmax(const PoolShape& s, const T* input, bool include_batch, T* output, int64_t* argmax, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  const int64_t image_size = s.in_height * s.in_width * s.channels;
  ForEachWindow<Acc>(s, pool, [=](const PoolWindow& w, int64_t corner, int64_t out) MILLSTREAM_INLINE_LAMBDA {
    const int64_t base = include_batch ? corner : corner % image_size;
    ForEachBlock<T>(0, s.channels, [=]<int kChannels>(int64_t c) MILLSTREAM_INLINE_LAMBDA {
      Index at[kChannels];
      ArgmaxBlock<kChannels>(s, w, input + corner + c, output + out + c, at);
      for (int i = 0; i < kChannels; ++i) argmax[out + c + i] = base + c + i + at[i] * s.channels;
    });
  });
}

}  // namespace internal

template <typename T>
void MaxPoolWithArgmax(const PoolShape& s, const T* input, bool include_batch, T* output, int64_t* argmax,
                       ThreadPool* pool) {
  if (sizeof(T) == 8 || s.window_height * s.in_width > INT32_MAX) {
    return internal::RunArgmax<int64_t>(s, input, include_batch, output, argmax, pool);
  }
  internal::RunArgmax<int32_t>(s, input, include_batch, output, argmax, pool);
}

template <typename T>
void MaxPoolGrad(const PoolShape& s, const T* input, const T* output, const T* out_grad, T* in_grad, ThreadPool* pool) {
  if (simd::ActiveIsa() == simd::Isa::kAvx512) {
    return internal::ForEachGradWindow(
        s, in_grad, pool,
        [=]<bool add>(const internal::PoolStrip& strip, const internal::PoolWindow& w, int64_t corner,
                      int64_t out) MILLSTREAM_INLINE_LAMBDA {
          internal::ForEachBlock<T>(strip.first, strip.last, [=]<int kChannels>(int64_t c) MILLSTREAM_INLINE_LAMBDA {
            internal::MaxGradBlock<add, kChannels>(s, w, input + corner + c, output + out + c, out_grad + out + c,
                                                   in_grad + corner + c);
          });
        });
  }
  internal::ForEachGradWindow(s, in_grad, pool,
                              [=]<bool add>(const internal::PoolStrip& strip, const internal::PoolWindow& w,
                                            int64_t corner, int64_t out) MILLSTREAM_INLINE_LAMBDA {
                                const int64_t c = strip.first;
                                internal::MaxGradWindow<add>(s, w, strip.last - c, input + corner + c, output + out + c,
                                                             out_grad + out + c, in_grad + corner + c);
                              });
}

template <typename T>
void MaxPoolGradGrad(const PoolShape& s, const T* input, const T* output, const T* grad, T* result, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  internal::ForEachWindow<Acc>(
      s, pool, [=](const internal::PoolWindow& w, int64_t corner, int64_t out) MILLSTREAM_INLINE_LAMBDA {
        internal::ForEachBlock<T>(0, s.channels, [=]<int kChannels>(int64_t c) MILLSTREAM_INLINE_LAMBDA {
          internal::PickBlock<kChannels>(s, w, input + corner + c, output + out + c, grad + corner + c,
                                         result + out + c);
        });
      });
}

template <typename T>
void AvgPool(const PoolShape& s, const T* input, T* output, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  if (internal::AveragesByLines(s)) {
    return internal::ForLines(
        s, pool, [=](int64_t begin, int64_t end) { internal::AverageLines(s, input, output, begin, end); });
  }
  internal::ForEachWindow<Acc>(
      s, pool, [=](const internal::PoolWindow& w, int64_t corner, int64_t out) MILLSTREAM_INLINE_LAMBDA {
        internal::ForEachBlock<T>(0, s.channels, [=]<int kChannels>(int64_t c) MILLSTREAM_INLINE_LAMBDA {
          internal::AverageBlock<kChannels>(s, w, input + corner + c, output + out + c);
        });
      });
}

template <typename T>
void AvgPoolGrad(const PoolShape& s, const T* out_grad, T* in_grad, ThreadPool* pool) {
  internal::ForEachGradWindow(
      s, in_grad, pool,
      [=]<bool add>(const internal::PoolStrip& strip, const internal::PoolWindow& w, int64_t corner, int64_t out)
          MILLSTREAM_INLINE_LAMBDA {
            internal::ForEachBlock<T>(strip.first, strip.last, [=]<int kChannels>(int64_t c) MILLSTREAM_INLINE_LAMBDA {
              internal::AverageGradBlock<kChannels, add>(s, w, out_grad + out + c, in_grad + corner + c);
            });
          });
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_POOL_INL_H_
