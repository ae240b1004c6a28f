// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/depthwise.h"

#include <algorithm>
#include <vector>

#include "millstream/math/simd.h"
#include "millstream/ops/nn/depthwise_vectors.h"

namespace millstream {
namespace {

using math::ConvShape;

// y[c * m + j] += x[c] * w[c * m + j]
template <typename T>
MILLSTREAM_ALWAYS_INLINE void AddProducts(const T* x, const T* w, T* y, int64_t channels, int64_t m) {
  if (m == 1) {
    MILLSTREAM_INDEPENDENT_LOOP
    for (int64_t c = 0; c < channels; ++c) y[c] += x[c] * w[c];
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t j = 0; j < m; ++j) y[c * m + j] += x[c] * w[c * m + j];
  }
}

// x[c] += sum over j of y[c * m + j] * w[c * m + j]
template <typename T>
MILLSTREAM_ALWAYS_INLINE void AddDots(const T* y, const T* w, T* x, int64_t channels, int64_t m) {
  if (m == 1) return AddProducts(y, w, x, channels, m);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t j = 0; j < m; ++j) x[c] += y[c * m + j] * w[c * m + j];
  }
}

// The input line (or column) that `tap` reads for output `out`; outside [0, size) where it reads padding.
MILLSTREAM_ALWAYS_INLINE int64_t InputAt(int64_t out, int64_t tap, int64_t stride, int64_t dilation, int64_t pad) {
  return out * stride - pad + tap * dilation;
}

// The output that reads input `in` with `tap`, or -1.
MILLSTREAM_ALWAYS_INLINE int64_t OutputAt(int64_t in, int64_t tap, int64_t stride, int64_t dilation, int64_t pad,
                                          int64_t size) {
  const int64_t scaled = in + pad - tap * dilation;
  return scaled < 0 || scaled % stride != 0 || scaled / stride >= size ? -1 : scaled / stride;
}

void ForRange(ThreadPool* pool, int64_t n, double cost, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (pool == nullptr) return body(0, n);
  pool->ParallelFor(n, cost, body);
}

double LineCost(const ConvShape& s, int64_t width) {
  return 0.2 * static_cast<double>(width * s.out_channels) * static_cast<double>(s.filter_height * s.filter_width);
}

// The gradient of the input is a convolution of the output's gradient with the taps in reverse, if strides are one.
ConvShape Reversed(const ConvShape& s) {
  ConvShape r = s;
  r.in_height = s.out_height, r.in_width = s.out_width;
  r.out_height = s.in_height, r.out_width = s.in_width;
  r.pad_top = (s.filter_height - 1) * s.dilation_height - s.pad_top;
  r.pad_left = (s.filter_width - 1) * s.dilation_width - s.pad_left;
  return r;
}
template <typename T>
std::vector<T> ReversedTaps(const ConvShape& s, const T* filter) {
  const int64_t taps = s.filter_height * s.filter_width, channels = s.out_channels;
  std::vector<T> reversed(static_cast<size_t>(taps * channels));
  for (int64_t k = 0; k < taps; ++k) std::copy_n(filter + (taps - 1 - k) * channels, channels, &reversed[k * channels]);
  return reversed;
}

}  // namespace

template <typename T>
void DepthwiseForward(const ConvShape& s, const T* input, const T* filter, T* output, ThreadPool* pool) {
  if (s.out_group() == 1) {
    return ForRange(pool, s.batch * s.out_height, LineCost(s, s.out_width) / 2,
                    [&](int64_t begin, int64_t end) { DepthwiseLines(s, input, filter, begin, end, output); });
  }
  ForRange(pool, s.batch * s.out_height, LineCost(s, s.out_width), [&](int64_t begin, int64_t end) {
    simd::Run<T>([=] {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t image = line / s.out_height, oy = line % s.out_height;
        for (int64_t ox = 0; ox < s.out_width; ++ox) {
          T* y = output + (line * s.out_width + ox) * s.out_channels;
          std::fill_n(y, s.out_channels, T(0));
          for (int64_t ky = 0; ky < s.filter_height; ++ky) {
            const int64_t iy = InputAt(oy, ky, s.stride_height, s.dilation_height, s.pad_top);
            if (iy < 0 || iy >= s.in_height) continue;
            for (int64_t kx = 0; kx < s.filter_width; ++kx) {
              const int64_t ix = InputAt(ox, kx, s.stride_width, s.dilation_width, s.pad_left);
              if (ix < 0 || ix >= s.in_width) continue;
              AddProducts(input + ((image * s.in_height + iy) * s.in_width + ix) * s.in_channels,
                          filter + (ky * s.filter_width + kx) * s.out_channels, y, s.in_channels, s.out_group());
            }
          }
        }
      }
      return 0;
    });
  });
}

template <typename T>
void DepthwiseBackpropInput(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool) {
  if (s.out_group() == 1 && s.stride_height == 1 && s.stride_width == 1) {
    return DepthwiseForward(Reversed(s), out_grad, ReversedTaps(s, filter).data(), in_grad, pool);
  }
  ForRange(pool, s.batch * s.in_height, LineCost(s, s.in_width), [&](int64_t begin, int64_t end) {
    simd::Run<T>([=] {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t image = line / s.in_height, iy = line % s.in_height;
        for (int64_t ix = 0; ix < s.in_width; ++ix) {
          T* dx = in_grad + (line * s.in_width + ix) * s.in_channels;
          std::fill_n(dx, s.in_channels, T(0));
          for (int64_t ky = 0; ky < s.filter_height; ++ky) {
            const int64_t oy = OutputAt(iy, ky, s.stride_height, s.dilation_height, s.pad_top, s.out_height);
            if (oy < 0) continue;
            for (int64_t kx = 0; kx < s.filter_width; ++kx) {
              const int64_t ox = OutputAt(ix, kx, s.stride_width, s.dilation_width, s.pad_left, s.out_width);
              if (ox < 0) continue;
              AddDots(out_grad + ((image * s.out_height + oy) * s.out_width + ox) * s.out_channels,
                      filter + (ky * s.filter_width + kx) * s.out_channels, dx, s.in_channels, s.out_group());
            }
          }
        }
      }
      return 0;
    });
  });
}

template <typename T>
void DepthwiseBackpropFilter(const ConvShape& s, const T* input, const T* out_grad, T* filter_grad, ThreadPool* pool) {
  if (s.out_group() == 1) {
    constexpr int64_t kChannels = 64 / sizeof(T);  // of one task: the widest vector
    const int64_t blocks = (s.in_channels + kChannels - 1) / kChannels;
    const double cost = LineCost(s, s.out_width) * static_cast<double>(s.batch * s.out_height) /
                        static_cast<double>(s.filter_height * blocks);
    return ForRange(pool, s.filter_height * blocks, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kChannels, last = std::min(s.in_channels, first + kChannels);
        DepthwiseFilterLine(s, input, out_grad, i / blocks, first, last, filter_grad);
      }
    });
  }
  const double cost = LineCost(s, s.out_width) * static_cast<double>(s.batch * s.out_height) /
                      static_cast<double>(s.filter_height * s.filter_width);
  ForRange(pool, s.filter_height * s.filter_width, cost, [&](int64_t begin, int64_t end) {
    // Sums of one line at a time; the lines are summed in double, for there may be very many.
    std::vector<T> sums(s.out_channels);
    std::vector<double> totals(s.out_channels);
    for (int64_t tap = begin; tap < end; ++tap) {
      const int64_t ky = tap / s.filter_width, kx = tap % s.filter_width;
      std::fill(totals.begin(), totals.end(), 0.0);
      for (int64_t line = 0; line < s.batch * s.out_height; ++line) {
        const int64_t image = line / s.out_height;
        const int64_t iy = InputAt(line % s.out_height, ky, s.stride_height, s.dilation_height, s.pad_top);
        if (iy < 0 || iy >= s.in_height) continue;
        simd::Run<T>([=, to = sums.data(), total = totals.data()] {
          std::fill_n(to, s.out_channels, T(0));
          for (int64_t ox = 0; ox < s.out_width; ++ox) {
            const int64_t ix = InputAt(ox, kx, s.stride_width, s.dilation_width, s.pad_left);
            if (ix < 0 || ix >= s.in_width) continue;
            AddProducts(input + ((image * s.in_height + iy) * s.in_width + ix) * s.in_channels,
                        out_grad + (line * s.out_width + ox) * s.out_channels, to, s.in_channels, s.out_group());
          }
          MILLSTREAM_INDEPENDENT_LOOP
          for (int64_t c = 0; c < s.out_channels; ++c) total[c] += static_cast<double>(to[c]);
          return 0;
        });
      }
      T* dw = filter_grad + tap * s.out_channels;
      for (int64_t c = 0; c < s.out_channels; ++c) dw[c] = static_cast<T>(totals[c]);
    }
  });
}

#define MILLSTREAM_DEPTHWISE_INSTANCES(T)                                                            \
  template void DepthwiseForward(const math::ConvShape&, const T*, const T*, T*, ThreadPool*);       \
  template void DepthwiseBackpropInput(const math::ConvShape&, const T*, const T*, T*, ThreadPool*); \
  template void DepthwiseBackpropFilter(const math::ConvShape&, const T*, const T*, T*, ThreadPool*)
MILLSTREAM_DEPTHWISE_INSTANCES(float);
MILLSTREAM_DEPTHWISE_INSTANCES(double);

}  // namespace millstream
