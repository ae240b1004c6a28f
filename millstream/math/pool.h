// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_POOL_H_
#define MILLSTREAM_MATH_POOL_H_

#include <algorithm>
#include <cstdint>

#include "millstream/base/thread_pool.h"
#include "millstream/math/gemm_generic.h"

namespace millstream::math {

// Pooling over windows of NHWC images. Padding below and to the right follows
// from the output size. Padded positions take no part: neither in a maximum nor
// in an average. REQUIRES: every window holds at least one pixel of the input.
struct PoolShape {
  int64_t batch = 1, in_height = 1, in_width = 1, channels = 1;
  int64_t out_height = 1, out_width = 1;
  int64_t window_height = 1, window_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t pad_top = 0, pad_left = 0;
};

namespace internal {

constexpr int64_t kPoolChannels = 64;  // channels done at a time

// The input pixels of one window: lines [top, bottom) and columns [left, right)
// of an image, clipped to it.
struct PoolWindow {
  int64_t top, bottom, left, right;
  int64_t size() const { return (bottom - top) * (right - left); }
};

inline PoolWindow WindowAt(const PoolShape& s, int64_t oy, int64_t ox) {
  const int64_t y = oy * s.stride_height - s.pad_top, x = ox * s.stride_width - s.pad_left;
  return {std::max<int64_t>(y, 0), std::min(y + s.window_height, s.in_height), std::max<int64_t>(x, 0),
          std::min(x + s.window_width, s.in_width)};
}

// Calls fn(image, first_channel, channels) for all images and channel strips.
// No two calls touch the same data, so a gradient may add within one.
template <typename Fn>
void ForEachStrip(const PoolShape& s, ThreadPool* pool, Fn fn) {
  const int64_t strips = (s.channels + kPoolChannels - 1) / kPoolChannels;
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % strips * kPoolChannels;
      fn(i / strips, first, std::min(kPoolChannels, s.channels - first));
    }
  };
  if (pool == nullptr) return range(0, s.batch * strips);
  const int64_t reads = s.out_height * s.out_width * s.window_height * s.window_width + s.in_height * s.in_width;
  pool->ParallelFor(s.batch * strips, 0.2 * static_cast<double>(reads * std::min(s.channels, kPoolChannels)), range);
}

// Calls fn(input_offset, output_offset, first) for every pixel of every window
// of one strip, windows and their pixels in row order; `first` marks the first
// pixel of a window.
template <typename Fn>
void ForEachPoolPixel(const PoolShape& s, int64_t image, int64_t channel, Fn fn) {
  for (int64_t oy = 0; oy < s.out_height; ++oy) {
    for (int64_t ox = 0; ox < s.out_width; ++ox) {
      const PoolWindow w = WindowAt(s, oy, ox);
      const int64_t out = ((image * s.out_height + oy) * s.out_width + ox) * s.channels + channel;
      for (int64_t y = w.top; y < w.bottom; ++y) {
        for (int64_t x = w.left; x < w.right; ++x) {
          const int64_t in = ((image * s.in_height + y) * s.in_width + x) * s.channels + channel;
          fn(in, out, y == w.top && x == w.left);
        }
      }
    }
  }
}

// The loops over channels. Blocks of constant length let the compiler use
// vectors at -O2.
constexpr int kPoolBlock = 16;

template <typename T>
inline void RaiseTo(const T* __restrict from, int64_t n, T* __restrict to) {
  using Acc = typename AccumulatorOf<T>::Type;
  int64_t c = 0;
  for (; c + kPoolBlock <= n; c += kPoolBlock, from += kPoolBlock, to += kPoolBlock) {
    for (int i = 0; i < kPoolBlock; ++i) to[i] = static_cast<Acc>(from[i]) > static_cast<Acc>(to[i]) ? from[i] : to[i];
  }
  for (int i = 0; i < n - c; ++i) to[i] = static_cast<Acc>(from[i]) > static_cast<Acc>(to[i]) ? from[i] : to[i];
}

// `kFirst`: the first pixel of its window. A NaN there stays the maximum, since nothing is greater.
template <bool kAdd, bool kFirst, typename T, typename Acc>
inline void GiveIfMaximum(const T* from, const T* maximum, int n, Acc* __restrict left, T* __restrict to) {
  for (int i = 0; i < n; ++i) {
    const Acc value = static_cast<Acc>(from[i]);
    const bool found = value == static_cast<Acc>(maximum[i]) || (kFirst && value != value);
    to[i] = static_cast<T>((kAdd ? static_cast<Acc>(to[i]) : Acc(0)) + (found ? left[i] : Acc(0)));
    left[i] = found ? Acc(0) : left[i];
  }
}

template <typename T>
struct MaxPoolGradArgs {
  const T* input;
  const T* output;
  const T* out_grad;
  T* in_grad;
};

// Adds to in_grad, or without kAdd overwrites it.
template <bool kAdd, typename T>
void MaxPoolGradStrip(const PoolShape& s, int64_t image, int64_t channel, int64_t channels,
                      const MaxPoolGradArgs<T>& args) {
  using Acc = typename AccumulatorOf<T>::Type;
  Acc left[kPoolChannels];  // the gradient until its maximum is found, then
                            // zero
  ForEachPoolPixel(s, image, channel, [&](int64_t in, int64_t out, bool first) {
    if (first) {
      for (int64_t c = 0; c < channels; ++c) left[c] = static_cast<Acc>(args.out_grad[out + c]);
    }
    const T* from = args.input + in;
    const T* maximum = args.output + out;
    T* to = args.in_grad + in;
    const auto give = [&]<bool kFirst>() {
      int64_t c = 0;
      for (; c + kPoolBlock <= channels; c += kPoolBlock) {
        GiveIfMaximum<kAdd, kFirst>(from + c, maximum + c, kPoolBlock, left + c, to + c);
      }
      GiveIfMaximum<kAdd, kFirst>(from + c, maximum + c, static_cast<int>(channels - c), left + c, to + c);
    };
    if (first) return give.template operator()<true>();
    give.template operator()<false>();
  });
}

// Whether every pixel of the input lies in exactly one window.
inline bool WindowsTile(const PoolShape& s) {
  return s.pad_top == 0 && s.pad_left == 0 && s.stride_height == s.window_height && s.stride_width == s.window_width &&
         s.out_height * s.stride_height == s.in_height && s.out_width * s.stride_width == s.in_width;
}

template <typename T>
void ZeroStrip(const PoolShape& s, int64_t image, int64_t channel, int64_t channels, T* data) {
  T* pixel = data + image * s.in_height * s.in_width * s.channels + channel;
  for (int64_t i = 0; i < s.in_height * s.in_width; ++i, pixel += s.channels) std::fill_n(pixel, channels, T(0));
}

}  // namespace internal

// All of these overwrite their results and work for any element type that
// converts to and from its AccumulatorOf. They are compiled once for float and
// double.

template <typename T>
void MaxPool(const PoolShape& s, const T* input, T* output, ThreadPool* pool) {
  internal::ForEachStrip(s, pool, [&](int64_t image, int64_t channel, int64_t channels) {
    internal::ForEachPoolPixel(s, image, channel, [&](int64_t in, int64_t out, bool first) {
      const T* from = input + in;
      T* to = output + out;
      if (first) return static_cast<void>(std::copy_n(from, channels, to));
      internal::RaiseTo(from, channels, to);
    });
  });
}

// Also stores where each maximum was found, counted in elements of its image,
// or of the whole input with `include_batch`.
template <typename T>
void MaxPoolWithArgmax(const PoolShape& s, const T* input, bool include_batch, T* output, int64_t* argmax,
                       ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  internal::ForEachStrip(s, pool, [&](int64_t image, int64_t channel, int64_t channels) {
    const int64_t base = include_batch ? 0 : image * s.in_height * s.in_width * s.channels;
    internal::ForEachPoolPixel(s, image, channel, [&](int64_t in, int64_t out, bool first) {
      for (int64_t c = 0; c < channels; ++c) {
        if (!first && !(static_cast<Acc>(input[in + c]) > static_cast<Acc>(output[out + c]))) continue;
        output[out + c] = input[in + c];
        argmax[out + c] = in + c - base;
      }
    });
  });
}

// The gradient goes to the first maximum of each window in row order. `output`
// is what MaxPool() gave for `input`.
template <typename T>
void MaxPoolGrad(const PoolShape& s, const T* input, const T* output, const T* out_grad, T* in_grad, ThreadPool* pool) {
  const bool tiled = internal::WindowsTile(s);
  internal::ForEachStrip(s, pool, [&](int64_t image, int64_t channel, int64_t channels) {
    if (!tiled) internal::ZeroStrip(s, image, channel, channels, in_grad);
    const auto run = tiled ? &internal::MaxPoolGradStrip<false, T> : &internal::MaxPoolGradStrip<true, T>;
    run(s, image, channel, channels, {input, output, out_grad, in_grad});
  });
}

// The gradient of MaxPoolGrad() with respect to its out_grad: picks, for each
// window, the value of `grad` (in the input's shape) at the first maximum.
template <typename T>
void MaxPoolGradGrad(const PoolShape& s, const T* input, const T* output, const T* grad, T* result, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  internal::ForEachStrip(s, pool, [&](int64_t image, int64_t channel, int64_t channels) {
    bool searching[internal::kPoolChannels];
    internal::ForEachPoolPixel(s, image, channel, [&](int64_t in, int64_t out, bool first) {
      if (first) std::fill_n(searching, channels, true), std::fill_n(result + out, channels, T(0));
      for (int64_t c = 0; c < channels; ++c) {
        if (!searching[c] || static_cast<Acc>(input[in + c]) != static_cast<Acc>(output[out + c])) continue;
        result[out + c] = grad[in + c];
        searching[c] = false;
      }
    });
  });
}

template <typename T>
void AvgPool(const PoolShape& s, const T* input, T* output, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  internal::ForEachStrip(s, pool, [&](int64_t image, int64_t channel, int64_t channels) {
    Acc sums[internal::kPoolChannels];
    for (int64_t oy = 0; oy < s.out_height; ++oy) {
      for (int64_t ox = 0; ox < s.out_width; ++ox) {
        const internal::PoolWindow w = internal::WindowAt(s, oy, ox);
        std::fill_n(sums, channels, Acc(0));
        for (int64_t y = w.top; y < w.bottom; ++y) {
          const T* from = input + ((image * s.in_height + y) * s.in_width + w.left) * s.channels + channel;
          for (int64_t x = w.left; x < w.right; ++x, from += s.channels) {
            for (int64_t c = 0; c < channels; ++c) sums[c] += static_cast<Acc>(from[c]);
          }
        }
        T* to = output + ((image * s.out_height + oy) * s.out_width + ox) * s.channels + channel;
        const Acc count = static_cast<Acc>(w.size());
        for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<T>(sums[c] / count);
      }
    }
  });
}

template <typename T>
void AvgPoolGrad(const PoolShape& s, const T* out_grad, T* in_grad, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  internal::ForEachStrip(s, pool, [&](int64_t image, int64_t channel, int64_t channels) {
    internal::ZeroStrip(s, image, channel, channels, in_grad);
    Acc share[internal::kPoolChannels];
    for (int64_t oy = 0; oy < s.out_height; ++oy) {
      for (int64_t ox = 0; ox < s.out_width; ++ox) {
        const internal::PoolWindow w = internal::WindowAt(s, oy, ox);
        const T* from = out_grad + ((image * s.out_height + oy) * s.out_width + ox) * s.channels + channel;
        const Acc count = static_cast<Acc>(w.size());
        for (int64_t c = 0; c < channels; ++c) share[c] = static_cast<Acc>(from[c]) / count;
        for (int64_t y = w.top; y < w.bottom; ++y) {
          T* to = in_grad + ((image * s.in_height + y) * s.in_width + w.left) * s.channels + channel;
          for (int64_t x = w.left; x < w.right; ++x, to += s.channels) {
            for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<T>(static_cast<Acc>(to[c]) + share[c]);
          }
        }
      }
    }
  });
}

#define MILLSTREAM_POOL_INSTANCES(prefix, T)                                                             \
  prefix template void MaxPool(const PoolShape&, const T*, T*, ThreadPool*);                             \
  prefix template void MaxPoolWithArgmax(const PoolShape&, const T*, bool, T*, int64_t*, ThreadPool*);   \
  prefix template void MaxPoolGrad(const PoolShape&, const T*, const T*, const T*, T*, ThreadPool*);     \
  prefix template void MaxPoolGradGrad(const PoolShape&, const T*, const T*, const T*, T*, ThreadPool*); \
  prefix template void AvgPool(const PoolShape&, const T*, T*, ThreadPool*);                             \
  prefix template void AvgPoolGrad(const PoolShape&, const T*, T*, ThreadPool*);
MILLSTREAM_POOL_INSTANCES(extern, float)
MILLSTREAM_POOL_INSTANCES(extern, double)

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_POOL_H_
