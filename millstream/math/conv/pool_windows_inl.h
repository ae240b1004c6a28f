// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_POOL_WINDOWS_INL_H_
#define MILLSTREAM_MATH_CONV_POOL_WINDOWS_INL_H_

#include <algorithm>
#include <type_traits>

#include "millstream/math/conv/pool.h"
#include "millstream/math/gemm/gemm_generic.h"
#include "millstream/math/simd_types.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions alone
#endif

// How pools go over windows, blocks of channels and threads.
namespace millstream::math::internal {

// Calls fn.operator()<n>(c) for blocks of n channels from c on.
template <typename T, typename Fn>
MILLSTREAM_ALWAYS_INLINE void ForEachBlock(int64_t begin, int64_t end, Fn fn) {
  constexpr int kWide = sizeof(T) == 1 ? 64 : sizeof(T) == 8 ? 8 : 16;
  int64_t c = begin;
  for (; c + kWide <= end; c += kWide) fn.template operator()<kWide>(c);
  if constexpr (kWide > 16) {
    for (; c + 16 <= end; c += 16) fn.template operator()<16>(c);
  }
  for (; c + 4 <= end; c += 4) fn.template operator()<4>(c);
  for (; c < end; ++c) fn.template operator()<1>(c);
}

// Calls fn(from, y, x) with the channels of each pixel of `w` but the first, in row order.
template <typename T, typename Fn>
MILLSTREAM_ALWAYS_INLINE void ForEachPixelAfterFirst(const PoolShape& s, const PoolWindow& w, T* first, Fn fn) {
  for (int64_t y = w.top; y < w.bottom; ++y) {
    T* line = first + (y - w.top) * s.in_width * s.channels;
    for (int64_t x = y == w.top ? w.left + 1 : w.left; x < w.right; ++x) fn(line + (x - w.left) * s.channels, y, x);
  }
}

// The offset of a window's first pixel.
inline int64_t CornerOf(const PoolShape& s, const PoolWindow& w, int64_t image) {
  return ((image * s.in_height + w.top) * s.in_width + w.left) * s.channels;
}

// Calls fn(window, corner, out) for each window, with the offset of its first pixel and that of its output. What it
// writes is of that output alone.
template <typename Acc, typename Fn>
void ForEachWindow(const PoolShape& s, ThreadPool* pool, Fn fn) {
  const auto range = [&](int64_t begin, int64_t end) {
    simd::Run<simd::VectorOf<Acc>>([=] {
      for (int64_t line = begin; line < end; ++line) {
        for (int64_t ox = 0; ox < s.out_width; ++ox) {
          const PoolWindow w = WindowAt(s, line % s.out_height, ox);
          fn(w, CornerOf(s, w, line / s.out_height), (line * s.out_width + ox) * s.channels);
        }
      }
      return 0;
    });
  };
  const int64_t lines = s.batch * s.out_height;
  if (pool == nullptr) return range(0, lines);
  const auto reads = static_cast<double>(s.out_width * (s.window_height * s.window_width + 1) * s.channels);
  pool->ParallelFor(lines, 0.1 * reads, range);
}

// Whether no pixel of the input lies in two windows, and whether every pixel lies in one.
inline bool WindowsAreApart(const PoolShape& s) {
  return s.stride_height >= s.window_height && s.stride_width >= s.window_width;
}
inline bool WindowsTile(const PoolShape& s) {
  return s.pad_top == 0 && s.pad_left == 0 && s.stride_height == s.window_height && s.stride_width == s.window_width &&
         s.out_height * s.stride_height == s.in_height && s.out_width * s.stride_width == s.in_width;
}

// Channels that are done together.
constexpr int64_t kPoolChannels = 64;

// Channels [first, last) of an image, kPoolChannels at most: the part of a gradient that one thread adds to.
struct PoolStrip {
  int64_t image, first, last;
};

template <typename T>
void ZeroStrip(const PoolShape& s, const PoolStrip& strip, T* data) {
  T* image = data + strip.image * s.in_height * s.in_width * s.channels;
  const int64_t pixels = s.in_height * s.in_width, channels = strip.last - strip.first;
  if (channels == s.channels) return static_cast<void>(std::fill_n(image, pixels * channels, T(0)));
  for (int64_t i = 0; i < pixels; ++i) std::fill_n(image + i * s.channels + strip.first, channels, T(0));
}

// Calls fn.operator()<add>(strip, window, corner, out) for each window and strip of channels, with the offset of its
// first pixel and that of its output. Without `add`, fn overwrites all of in_grad that it may add to.
template <typename T, typename Fn>
void ForEachGradWindow(const PoolShape& s, T* in_grad, ThreadPool* pool, Fn fn) {
  constexpr int64_t kWide = kPoolChannels, kNarrow = 16, kFewStrips = 8;
  const int64_t wide_strips = s.batch * ((s.channels + kWide - 1) / kWide);
  const int64_t width = wide_strips < kFewStrips ? kNarrow : kWide, strips = (s.channels + width - 1) / width;
  const bool add = !WindowsAreApart(s), zero = !WindowsTile(s);
  const auto range = [&](int64_t begin, int64_t end) {
    simd::Run<simd::VectorOf<typename AccumulatorOf<T>::Type>>([=] {
      for (int64_t i = begin; i < end; ++i) {
        const PoolStrip strip{i / strips, i % strips * width, std::min(s.channels, (i % strips + 1) * width)};
        if (zero) ZeroStrip(s, strip, in_grad);
        for (int64_t o = 0; o < s.out_height * s.out_width; ++o) {
          const PoolWindow w = WindowAt(s, o / s.out_width, o % s.out_width);
          const int64_t corner = CornerOf(s, w, strip.image);
          const int64_t out = (strip.image * s.out_height * s.out_width + o) * s.channels;
          if (add) {
            fn.template operator()<true>(strip, w, corner, out);
          } else {
            fn.template operator()<false>(strip, w, corner, out);
          }
        }
      }
      return 0;
    });
  };
  if (pool == nullptr) return range(0, s.batch * strips);
  const int64_t reads = s.out_height * s.out_width * s.window_height * s.window_width + s.in_height * s.in_width;
  pool->ParallelFor(s.batch * strips, 0.1 * static_cast<double>(reads * std::min(s.channels, width)), range);
}

}  // namespace millstream::math::internal

#endif  // MILLSTREAM_MATH_CONV_POOL_WINDOWS_INL_H_
