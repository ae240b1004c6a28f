// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_CONV_GENERIC_H_
#define MILLSTREAM_MATH_CONV_CONV_GENERIC_H_

#include <algorithm>
#include <vector>

#include "millstream/math/conv/conv.h"
#include "millstream/math/gemm/gemm_generic.h"

namespace millstream::math {

// Convolutions for any element type (integers, 16-bit floats with sums in
// float): plain loops, parallel over the images, or over the filter's rows for
// its gradient.
namespace internal {

// Calls fn(input_pixel, filter_pixel, output_pixel) for every pair of pixels of
// one image that a filter tap joins. Only taps with first_tap <= tap < last_tap
// are visited.
template <typename Fn>
void ForEachTap(const ConvShape& s, int64_t first_tap, int64_t last_tap, Fn fn) {
  for (int64_t oy = 0; oy < s.out_height; ++oy) {
    for (int64_t ox = 0; ox < s.out_width; ++ox) {
      for (int64_t tap = first_tap; tap < last_tap; ++tap) {
        const int64_t iy = oy * s.stride_height - s.pad_top + tap / s.filter_width * s.dilation_height;
        const int64_t ix = ox * s.stride_width - s.pad_left + tap % s.filter_width * s.dilation_width;
        if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
        fn(iy * s.in_width + ix, tap, oy * s.out_width + ox);
      }
    }
  }
}

template <typename Fn>
void ForEachImage(const ConvShape& s, int64_t count, ThreadPool* pool, Fn fn) {
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i);
  };
  if (pool == nullptr) return range(0, count);
  const double work = static_cast<double>(s.batch * s.out_height * s.out_width) * static_cast<double>(s.filter_size());
  pool->ParallelFor(count, work / static_cast<double>(std::max<int64_t>(count, 1)), range);
}

template <typename T, typename Acc = typename AccumulatorOf<T>::Type>
void ConvImage(const ConvShape& s, const T* input, const T* filter, Acc* sums) {
  const int64_t in = s.in_group(), out = s.out_group();
  ForEachTap(s, 0, s.filter_height * s.filter_width, [&](int64_t ip, int64_t tap, int64_t op) {
    for (int64_t g = 0; g < s.groups; ++g) {
      Acc* to = sums + op * s.out_channels + g * out;
      for (int64_t c = 0; c < in; ++c) {
        const Acc x = static_cast<Acc>(input[ip * s.in_channels + g * in + c]);
        const T* w = filter + (tap * in + c) * s.out_channels + g * out;
        for (int64_t o = 0; o < out; ++o) to[o] = MultiplyAdd(x, static_cast<Acc>(w[o]), to[o]);
      }
    }
  });
}

template <typename T, typename Acc = typename AccumulatorOf<T>::Type>
void ConvImageBackpropInput(const ConvShape& s, const T* filter, const T* out_grad, Acc* sums) {
  const int64_t in = s.in_group(), out = s.out_group();
  ForEachTap(s, 0, s.filter_height * s.filter_width, [&](int64_t ip, int64_t tap, int64_t op) {
    for (int64_t g = 0; g < s.groups; ++g) {
      const T* from = out_grad + op * s.out_channels + g * out;
      for (int64_t c = 0; c < in; ++c) {
        const T* w = filter + (tap * in + c) * s.out_channels + g * out;
        Acc& to = sums[ip * s.in_channels + g * in + c];
        for (int64_t o = 0; o < out; ++o) to = MultiplyAdd(static_cast<Acc>(from[o]), static_cast<Acc>(w[o]), to);
      }
    }
  });
}

// Adds what one image gives to the gradient of one tap: in_group x out_channels
// sums.
template <typename T, typename Acc = typename AccumulatorOf<T>::Type>
void ConvTapBackpropFilter(const ConvShape& s, int64_t tap, const T* input, const T* out_grad, Acc* sums) {
  const int64_t in = s.in_group(), out = s.out_group();
  ForEachTap(s, tap, tap + 1, [&](int64_t ip, int64_t, int64_t op) {
    for (int64_t g = 0; g < s.groups; ++g) {
      const T* from = out_grad + op * s.out_channels + g * out;
      for (int64_t c = 0; c < in; ++c) {
        const Acc x = static_cast<Acc>(input[ip * s.in_channels + g * in + c]);
        Acc* to = sums + c * s.out_channels + g * out;
        for (int64_t o = 0; o < out; ++o) to[o] = MultiplyAdd(x, static_cast<Acc>(from[o]), to[o]);
      }
    }
  });
}

}  // namespace internal

template <typename T>
void Conv2DGeneric(const ConvShape& s, const T* input, const T* filter, T* output, const ConvEpilogue<T>& epilogue,
                   ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  const int64_t in_size = s.in_height * s.in_width * s.in_channels;
  const int64_t out_size = s.out_height * s.out_width * s.out_channels;
  internal::ForEachImage(s, s.batch, pool, [&](int64_t image) {
    std::vector<Acc> sums(out_size, Acc(0));
    internal::ConvImage<T>(s, input + image * in_size, filter, sums.data());
    for (int64_t i = 0; i < out_size; ++i) {
      const Acc bias = epilogue.bias == nullptr ? Acc(0) : static_cast<Acc>(epilogue.bias[i % s.out_channels]);
      output[image * out_size + i] = static_cast<T>(internal::Activate(Acc(sums[i] + bias), epilogue.activation));
    }
  });
}

template <typename T>
void Conv2DBackpropInputGeneric(const ConvShape& s, const T* filter, const T* out_grad, T* in_grad, ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  const int64_t in_size = s.in_height * s.in_width * s.in_channels;
  const int64_t out_size = s.out_height * s.out_width * s.out_channels;
  internal::ForEachImage(s, s.batch, pool, [&](int64_t image) {
    std::vector<Acc> sums(in_size, Acc(0));
    internal::ConvImageBackpropInput<T>(s, filter, out_grad + image * out_size, sums.data());
    for (int64_t i = 0; i < in_size; ++i) in_grad[image * in_size + i] = static_cast<T>(sums[i]);
  });
}

template <typename T>
void Conv2DBackpropFilterGeneric(const ConvShape& s, const T* input, const T* out_grad, T* filter_grad,
                                 ThreadPool* pool) {
  using Acc = typename AccumulatorOf<T>::Type;
  const int64_t in_size = s.in_height * s.in_width * s.in_channels;
  const int64_t out_size = s.out_height * s.out_width * s.out_channels;
  const int64_t tap_size = s.in_group() * s.out_channels;
  internal::ForEachImage(s, s.filter_height * s.filter_width, pool, [&](int64_t tap) {
    std::vector<Acc> sums(tap_size, Acc(0));
    for (int64_t image = 0; image < s.batch; ++image) {
      internal::ConvTapBackpropFilter<T>(s, tap, input + image * in_size, out_grad + image * out_size, sums.data());
    }
    for (int64_t i = 0; i < tap_size; ++i) filter_grad[tap * tap_size + i] = static_cast<T>(sums[i]);
  });
}

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_CONV_GENERIC_H_
