// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv_columns.h"

#include <algorithm>
#include <cstring>

namespace millstream::math {
namespace {

// Taps of a filter row that fall inside the input: [first, last).
struct Taps {
  int64_t first, last;
};

Taps InsideTaps(int64_t start, int64_t dilation, int64_t count, int64_t size) {
  const int64_t first = start >= 0 ? 0 : std::min(count, (-start + dilation - 1) / dilation);
  const int64_t last = start >= size ? 0 : std::min(count, (size - start + dilation - 1) / dilation);
  return {first, std::max(first, last)};
}

// Calls fn(offset, pixel, count) for each run of `count` elements of a column
// row at `offset` that is one run in the image, beginning at element `pixel`;
// zero(offset, count) for runs outside.
template <typename Fn, typename Zero>
void ForEachRun(const ConvShape& s, int64_t group, int64_t oy, int64_t ox, Fn fn, Zero zero) {
  const int64_t channels = s.in_group(), line = s.filter_width * channels;
  const int64_t x0 = ox * s.stride_width - s.pad_left;
  const Taps taps = InsideTaps(x0, s.dilation_width, s.filter_width, s.in_width);
  const bool joined = s.groups == 1 && s.dilation_width == 1;
  for (int64_t fy = 0; fy < s.filter_height; ++fy) {
    const int64_t iy = oy * s.stride_height - s.pad_top + fy * s.dilation_height, at = fy * line;
    if (iy < 0 || iy >= s.in_height || taps.first == taps.last) {
      zero(at, line);
      continue;
    }
    if (taps.first > 0) zero(at, taps.first * channels);
    if (taps.last < s.filter_width) zero(at + taps.last * channels, (s.filter_width - taps.last) * channels);
    const int64_t base = iy * s.in_width * s.in_channels + group * channels;
    if (joined) {
      fn(at + taps.first * channels, base + (x0 + taps.first) * channels, (taps.last - taps.first) * channels);
      continue;
    }
    for (int64_t fx = taps.first; fx < taps.last; ++fx) {
      fn(at + fx * channels, base + (x0 + fx * s.dilation_width) * s.in_channels, channels);
    }
  }
}

// Runs are short: a call to memcpy() would cost more than the copy.
template <typename T>
inline void CopyRun(const T* from, int64_t count, T* to) {
  if (count >= 32) {
    std::memcpy(to, from, count * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

}  // namespace

template <typename T>
void ImageToColumns(const ConvShape& s, const T* image, int64_t group, int64_t row, int64_t rows, T* columns) {
  const int64_t width = s.filter_height * s.filter_width * s.in_group();
  for (int64_t oy = row; oy < row + rows; ++oy) {
    for (int64_t ox = 0; ox < s.out_width; ++ox, columns += width) {
      ForEachRun(
          s, group, oy, ox, [&](int64_t at, int64_t pixel, int64_t n) { CopyRun(image + pixel, n, columns + at); },
          [&](int64_t at, int64_t n) { std::fill_n(columns + at, n, T(0)); });
    }
  }
}

template <typename T>
void AddColumnsToImage(const ConvShape& s, const T* columns, int64_t group, int64_t row, int64_t rows, T* image) {
  const int64_t width = s.filter_height * s.filter_width * s.in_group();
  for (int64_t oy = row; oy < row + rows; ++oy) {
    for (int64_t ox = 0; ox < s.out_width; ++ox, columns += width) {
      ForEachRun(
          s, group, oy, ox,
          [&](int64_t at, int64_t pixel, int64_t n) {
            for (int64_t i = 0; i < n; ++i) image[pixel + i] += columns[at + i];
          },
          [](int64_t, int64_t) {});
    }
  }
}

template void ImageToColumns(const ConvShape&, const float*, int64_t, int64_t, int64_t, float*);
template void ImageToColumns(const ConvShape&, const double*, int64_t, int64_t, int64_t, double*);
template void AddColumnsToImage(const ConvShape&, const float*, int64_t, int64_t, int64_t, float*);
template void AddColumnsToImage(const ConvShape&, const double*, int64_t, int64_t, int64_t, double*);

}  // namespace millstream::math
