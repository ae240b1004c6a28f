// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_POOL_LINES_INL_H_
#define MILLSTREAM_MATH_CONV_POOL_LINES_INL_H_

#include <vector>

#include "millstream/math/conv/pool_windows_inl.h"

// Pools that first combine the lines of a window, whole lines at a time.
namespace millstream::math::internal {

// Channels that do not fill vectors.
constexpr int64_t kFewChannels = 16;

// Whether averages are cheaper so: where windows overlap in a line, too.
inline bool AveragesByLines(const PoolShape& s) {
  return s.channels < kFewChannels ||
         s.window_height * s.stride_width + s.window_width + 1 < s.window_height * s.window_width;
}

// sums[i] = the sum over the lines of a window, for all pixels and channels of a line.
template <typename T, typename Acc>
MILLSTREAM_ALWAYS_INLINE void AddLines(const T* first, int64_t lines, int64_t step, int64_t n, Acc* sums) {
  MILLSTREAM_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) sums[i] = static_cast<Acc>(first[i]);
  for (int64_t y = 1; y < lines; ++y) {
    const T* line = first + y * step;
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<Acc>(line[i]);
  }
}

// Averages of one pixel from the sums of the lines, which begin at the window's first column.
template <int kChannels, typename T, typename Acc>
MILLSTREAM_ALWAYS_INLINE void AverageSums(const Acc* sums, int64_t columns, int64_t step, Acc count, T* averages) {
  Acc total[kChannels];
  for (int i = 0; i < kChannels; ++i) total[i] = sums[i];
  for (int64_t x = 1; x < columns; ++x) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int i = 0; i < kChannels; ++i) total[i] += sums[x * step + i];
  }
  MILLSTREAM_INDEPENDENT_LOOP
  for (int i = 0; i < kChannels; ++i) averages[i] = static_cast<T>(total[i] / count);
}

// Lines [begin, end) of the output, counted over all images.
template <typename T>
void AverageLines(const PoolShape& s, const T* input, T* output, int64_t begin, int64_t end) {
  using Acc = typename AccumulatorOf<T>::Type;
  const int64_t c = s.channels, row = s.in_width * c;
  std::vector<Acc> memory(static_cast<size_t>(row));
  Acc* sums = memory.data();
  simd::Run<simd::VectorOf<Acc>>([=] {
    for (int64_t line = begin; line < end; ++line) {
      const PoolWindow lines = WindowAt(s, line % s.out_height, 0);
      const int64_t height = lines.bottom - lines.top;
      AddLines(input + (line / s.out_height * s.in_height + lines.top) * row, height, row, row, sums);
      for (int64_t ox = 0; ox < s.out_width; ++ox) {
        const PoolWindow w = WindowAt(s, line % s.out_height, ox);
        const Acc *from = sums + w.left * c, count = static_cast<Acc>(w.size());
        T* to = output + (line * s.out_width + ox) * c;
        if (c == 3) {
          AverageSums<3>(from, w.right - w.left, c, count, to);
        } else {
          ForEachBlock<T>(0, c, [=]<int kChannels>(int64_t i) MILLSTREAM_INLINE_LAMBDA {
            AverageSums<kChannels>(from + i, w.right - w.left, c, count, to + i);
          });
        }
      }
    }
    return 0;
  });
}

// The larger number; what is not a number gives way.
template <typename T>
MILLSTREAM_ALWAYS_INLINE T LargerNumber(T a, T b) {
  const T larger = b > a ? b : a;
  return a != a ? b : larger;
}

// Maxima of one pixel from those of the lines, which begin at the window's first column. `corner` is its first pixel:
// if that is not a number, nothing is greater.
template <int kChannels, typename T>
MILLSTREAM_ALWAYS_INLINE void MaximumOfLines(const T* lines, int64_t columns, int64_t step, const T* corner,
                                             T* maxima) {
  T best[kChannels];
  for (int i = 0; i < kChannels; ++i) best[i] = lines[i];
  for (int64_t x = 1; x < columns; ++x) {
    for (int i = 0; i < kChannels; ++i) best[i] = LargerNumber(best[i], lines[x * step + i]);
  }
  for (int i = 0; i < kChannels; ++i) maxima[i] = corner[i] != corner[i] ? corner[i] : best[i];
}

// Lines [begin, end) of the output, counted over all images.
template <typename T>
void MaximumLines(const PoolShape& s, const T* input, T* output, int64_t begin, int64_t end) {
  const int64_t c = s.channels, row = s.in_width * c;
  std::vector<T> memory(static_cast<size_t>(row));
  T* best = memory.data();
  simd::Run<simd::VectorOf<T>>([=] {
    for (int64_t line = begin; line < end; ++line) {
      const PoolWindow lines = WindowAt(s, line % s.out_height, 0);
      const T* first = input + (line / s.out_height * s.in_height + lines.top) * row;
      std::copy_n(first, row, best);
      for (int64_t y = 1; y < lines.bottom - lines.top; ++y) {
        MILLSTREAM_INDEPENDENT_LOOP
        for (int64_t i = 0; i < row; ++i) best[i] = LargerNumber(best[i], first[y * row + i]);
      }
      for (int64_t ox = 0; ox < s.out_width; ++ox) {
        const PoolWindow w = WindowAt(s, line % s.out_height, ox);
        const int64_t at = w.left * c, columns = w.right - w.left;
        T* to = output + (line * s.out_width + ox) * c;
        if (c == 3) {
          MaximumOfLines<3>(best + at, columns, c, first + at, to);
        } else {
          ForEachBlock<T>(0, c, [=]<int kChannels>(int64_t i) MILLSTREAM_INLINE_LAMBDA {
            MaximumOfLines<kChannels>(best + at + i, columns, c, first + at + i, to + i);
          });
        }
      }
    }
    return 0;
  });
}

// Calls fn(begin, end) for parts of the lines of the output, on the threads of `pool`.
template <typename Fn>
void ForLines(const PoolShape& s, ThreadPool* pool, Fn fn) {
  const int64_t lines = s.batch * s.out_height;
  if (pool == nullptr) return fn(0, lines);
  const auto reads = static_cast<double>((s.in_width * s.window_height + s.out_width * s.window_width) * s.channels);
  pool->ParallelFor(lines, 0.1 * reads, fn);
}

}  // namespace millstream::math::internal

#endif  // MILLSTREAM_MATH_CONV_POOL_LINES_INL_H_
