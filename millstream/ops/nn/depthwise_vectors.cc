// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/depthwise_vectors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "millstream/math/simd.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to inlined functions alone
#endif

namespace millstream {
namespace {

using math::ConvShape;

template <typename T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <typename T, typename V>
inline constexpr int kLanes = sizeof(V) / sizeof(T);

// `lanes` elements; the others are zero.
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE V Load(const T* from, int lanes) {
  V v{};
  if (lanes == kLanes<T, V>) {
    std::memcpy(&v, from, sizeof(V));
  } else {
    for (int l = 0; l < lanes; ++l) v[l] = from[l];
  }
  return v;
}
template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void Store(const V& v, int lanes, T* to) {
  if (lanes == kLanes<T, V>) {
    std::memcpy(to, &v, sizeof(V));
  } else {
    for (int l = 0; l < lanes; ++l) to[l] = v[l];
  }
}

// Taps [first, last) along one axis that read inside the input when the first tap reads at `at`.
struct TapRange {
  int64_t first, last;
  MILLSTREAM_ALWAYS_INLINE TapRange(int64_t at, int64_t dilation, int64_t taps, int64_t size) {
    first = at >= 0 ? 0 : std::min(taps, (-at + dilation - 1) / dilation);
    last = at >= size ? first : std::max(first, std::min(taps, (size - at + dilation - 1) / dilation));
  }
};

// One output line and one vector of channels; pointers are to the first of these.
template <typename T, typename V>
struct Line {
  const ConvShape& s;
  const T* image;  // of the input
  const T* filter;
  T* output;
  int64_t top;  // where the first filter line reads
  TapRange rows;
  int lanes;

  // kPixels neighbours, all of whose taps [first, last) read inside the line.
  template <int kPixels>
  MILLSTREAM_ALWAYS_INLINE void Pixels(int64_t ox, int64_t first, int64_t last) const {
    V sums[kPixels] = {};
    const int64_t step = s.stride_width * s.in_channels;
    for (int64_t ky = rows.first; ky < rows.last; ++ky) {
      const int64_t iy = top + ky * s.dilation_height, ix = ox * s.stride_width - s.pad_left;
      const T* from = image + (iy * s.in_width + ix) * s.in_channels;
      const T* weights = filter + ky * s.filter_width * s.out_channels;
      for (int64_t kx = first; kx < last; ++kx) {
        const V weight = Load<T, V>(weights + kx * s.out_channels, lanes);
        const T* x = from + kx * s.dilation_width * s.in_channels;
        for (int p = 0; p < kPixels; ++p) sums[p] += Load<T, V>(x + p * step, lanes) * weight;
      }
    }
    for (int p = 0; p < kPixels; ++p) Store<T, V>(sums[p], lanes, output + (ox + p) * s.out_channels);
  }

  MILLSTREAM_ALWAYS_INLINE void Run() const {
    constexpr int kPixels = 4;
    for (int64_t ox = 0; ox < s.out_width;) {
      const int64_t at = ox * s.stride_width - s.pad_left, after = at + (kPixels - 1) * s.stride_width;
      const bool whole = at >= 0 && after + (s.filter_width - 1) * s.dilation_width < s.in_width;
      if (whole && ox + kPixels <= s.out_width) {
        Pixels<kPixels>(ox, 0, s.filter_width);
        ox += kPixels;
      } else {
        const TapRange taps(at, s.dilation_width, s.filter_width, s.in_width);
        Pixels<1>(ox, taps.first, taps.last);
        ++ox;
      }
    }
  }
};

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunLines(const ConvShape& s, const T* input, const T* filter, int64_t begin, int64_t end,
                                       T* output) {
  for (int64_t line = begin; line < end; ++line) {
    const int64_t image = line / s.out_height, top = line % s.out_height * s.stride_height - s.pad_top;
    const TapRange rows(top, s.dilation_height, s.filter_height, s.in_height);
    for (int64_t c = 0; c < s.in_channels; c += kLanes<T, V>) {
      const int lanes = static_cast<int>(std::min<int64_t>(kLanes<T, V>, s.in_channels - c));
      Line<T, V> part{s,           input + image * s.in_height * s.in_width * s.in_channels + c,
                      filter + c,  output + line * s.out_width * s.out_channels + c,
                      top,         rows,
                      kLanes<T, V>};  // a constant: whole vectors are loaded without a question
      if (lanes == kLanes<T, V>) {
        part.Run();
      } else {
        part.lanes = lanes;
        part.Run();
      }
    }
  }
}

// Products of output pixels [begin, end) of a line with what kTaps taps read for them. With `check`, some read padding.
template <typename T, typename V, int kTaps, bool check>
MILLSTREAM_ALWAYS_INLINE void AddTapProducts(const ConvShape& s, const T* row, const T* out_grad, int64_t begin,
                                             int64_t end, int64_t kx, int lanes, V* sums) {
  for (int64_t ox = begin; ox < end; ++ox) {
    const V g = Load<T, V>(out_grad + ox * s.out_channels, lanes);
    for (int k = 0; k < kTaps; ++k) {
      const int64_t ix = ox * s.stride_width - s.pad_left + (kx + k) * s.dilation_width;
      if (check && (ix < 0 || ix >= s.in_width)) continue;
      sums[k] += Load<T, V>(row + ix * s.in_channels, lanes) * g;
    }
  }
}

// Sums over one line at a time; lines are summed in double, for there may be very many.
template <typename T, typename V, int kTaps>
MILLSTREAM_ALWAYS_INLINE void AddFilterTaps(const ConvShape& s, const T* input, const T* out_grad, int64_t ky,
                                            int64_t kx, int lanes, double* totals) {
  // Output pixels [begin, end) read no padding.
  const int64_t left = s.pad_left - kx * s.dilation_width, stride = s.stride_width;
  const int64_t right = s.in_width - 1 + s.pad_left - (kx + kTaps - 1) * s.dilation_width;
  const int64_t begin = left <= 0 ? 0 : std::min(s.out_width, (left + stride - 1) / stride);
  const int64_t end = right < 0 ? begin : std::clamp(right / stride + 1, begin, s.out_width);
  for (int64_t line = 0; line < s.batch * s.out_height; ++line) {
    const int64_t iy = line % s.out_height * s.stride_height - s.pad_top + ky * s.dilation_height;
    if (iy < 0 || iy >= s.in_height) continue;
    const T* row = input + (line / s.out_height * s.in_height + iy) * s.in_width * s.in_channels;
    const T* grads = out_grad + line * s.out_width * s.out_channels;
    V sums[kTaps] = {};
    AddTapProducts<T, V, kTaps, true>(s, row, grads, 0, begin, kx, lanes, sums);
    AddTapProducts<T, V, kTaps, false>(s, row, grads, begin, end, kx, lanes, sums);
    AddTapProducts<T, V, kTaps, true>(s, row, grads, end, s.out_width, kx, lanes, sums);
    for (int k = 0; k < kTaps; ++k) {
      for (int l = 0; l < lanes; ++l) totals[k * kLanes<T, V> + l] += static_cast<double>(sums[k][l]);
    }
  }
}

template <typename T, typename V>
MILLSTREAM_ALWAYS_INLINE void RunFilterLine(const ConvShape& s, const T* input, const T* out_grad, int64_t ky,
                                            int64_t first, int64_t last, T* filter_grad) {
  constexpr int kTaps = 3, kWidth = kLanes<T, V>;
  for (int64_t c = first; c < last; c += kWidth) {
    const int lanes = static_cast<int>(std::min<int64_t>(kWidth, last - c));
    for (int64_t kx = 0; kx < s.filter_width;) {
      double totals[kTaps * kWidth] = {};
      const int64_t taps = kx + kTaps <= s.filter_width ? kTaps : 1;
      if (taps == kTaps && lanes == kWidth) {
        AddFilterTaps<T, V, kTaps>(s, input + c, out_grad + c, ky, kx, kWidth, totals);
      } else if (taps == kTaps) {
        AddFilterTaps<T, V, kTaps>(s, input + c, out_grad + c, ky, kx, lanes, totals);
      } else {
        AddFilterTaps<T, V, 1>(s, input + c, out_grad + c, ky, kx, lanes, totals);
      }
      for (int64_t k = 0; k < taps; ++k) {
        T* to = filter_grad + (ky * s.filter_width + kx + k) * s.out_channels + c;
        for (int l = 0; l < lanes; ++l) to[l] = static_cast<T>(totals[k * kWidth + l]);
      }
      kx += taps;
    }
  }
}

template <typename T>
MILLSTREAM_SIMD_SSE2_ void LinesSse2(const ConvShape& s, const T* x, const T* w, int64_t begin, int64_t end, T* y) {
  RunLines<T, typename VectorOf<T, 16>::type>(s, x, w, begin, end, y);
}
template <typename T>
MILLSTREAM_SIMD_AVX2_ void LinesAvx2(const ConvShape& s, const T* x, const T* w, int64_t begin, int64_t end, T* y) {
  RunLines<T, typename VectorOf<T, 32>::type>(s, x, w, begin, end, y);
}
template <typename T>
MILLSTREAM_SIMD_AVX512_ void LinesAvx512(const ConvShape& s, const T* x, const T* w, int64_t begin, int64_t end, T* y) {
  RunLines<T, typename VectorOf<T, 64>::type>(s, x, w, begin, end, y);
}
template <typename T>
MILLSTREAM_SIMD_SSE2_ void FilterSse2(const ConvShape& s, const T* x, const T* dy, int64_t ky, int64_t first,
                                      int64_t last, T* dw) {
  RunFilterLine<T, typename VectorOf<T, 16>::type>(s, x, dy, ky, first, last, dw);
}
template <typename T>
MILLSTREAM_SIMD_AVX2_ void FilterAvx2(const ConvShape& s, const T* x, const T* dy, int64_t ky, int64_t first,
                                      int64_t last, T* dw) {
  RunFilterLine<T, typename VectorOf<T, 32>::type>(s, x, dy, ky, first, last, dw);
}
template <typename T>
MILLSTREAM_SIMD_AVX512_ void FilterAvx512(const ConvShape& s, const T* x, const T* dy, int64_t ky, int64_t first,
                                          int64_t last, T* dw) {
  RunFilterLine<T, typename VectorOf<T, 64>::type>(s, x, dy, ky, first, last, dw);
}

}  // namespace

template <typename T>
void DepthwiseLines(const ConvShape& s, const T* input, const T* filter, int64_t begin, int64_t end, T* output) {
  const simd::Isa isa = simd::ActiveIsa();
  if (isa == simd::Isa::kAvx512) return LinesAvx512(s, input, filter, begin, end, output);
  if (isa == simd::Isa::kAvx2) return LinesAvx2(s, input, filter, begin, end, output);
  LinesSse2(s, input, filter, begin, end, output);
}

template <typename T>
void DepthwiseFilterLine(const ConvShape& s, const T* input, const T* out_grad, int64_t ky, int64_t first, int64_t last,
                         T* filter_grad) {
  const simd::Isa isa = simd::ActiveIsa();
  if (isa == simd::Isa::kAvx512) return FilterAvx512(s, input, out_grad, ky, first, last, filter_grad);
  if (isa == simd::Isa::kAvx2) return FilterAvx2(s, input, out_grad, ky, first, last, filter_grad);
  FilterSse2(s, input, out_grad, ky, first, last, filter_grad);
}

#define MILLSTREAM_DEPTHWISE_VECTORS(T)                                                     \
  template void DepthwiseLines(const ConvShape&, const T*, const T*, int64_t, int64_t, T*); \
  template void DepthwiseFilterLine(const ConvShape&, const T*, const T*, int64_t, int64_t, int64_t, T*)
MILLSTREAM_DEPTHWISE_VECTORS(float);
MILLSTREAM_DEPTHWISE_VECTORS(double);

}  // namespace millstream
