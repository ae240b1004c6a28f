// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/depthwise.h"

#include <gtest/gtest.h>

#include <vector>

#include "millstream/math/simd.h"

namespace millstream {
namespace {

using math::ConvShape;

template <typename T>
std::vector<T> Numbers(int64_t n, int64_t start) {
  std::vector<T> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<T>((start + i * 7) % 23 - 11) / 4);
  return v;
}

// Calls fn(input, filter, output) with the indices of every product of the convolution.
template <typename Fn>
void ForEachProduct(const ConvShape& s, Fn fn) {
  const int64_t m = s.out_group();
  for (int64_t line = 0; line < s.batch * s.out_height; ++line) {
    for (int64_t ox = 0; ox < s.out_width; ++ox) {
      for (int64_t tap = 0; tap < s.filter_height * s.filter_width; ++tap) {
        const int64_t iy = line % s.out_height * s.stride_height - s.pad_top + tap / s.filter_width * s.dilation_height;
        const int64_t ix = ox * s.stride_width - s.pad_left + tap % s.filter_width * s.dilation_width;
        if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
        const int64_t pixel = (line / s.out_height * s.in_height + iy) * s.in_width + ix;
        for (int64_t c = 0; c < s.out_channels; ++c) {
          fn(pixel * s.in_channels + c / m, tap * s.out_channels + c, (line * s.out_width + ox) * s.out_channels + c);
        }
      }
    }
  }
}

template <typename T>
void ExpectNear(const std::vector<T>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-3) << i;
}

template <typename T>
void Check(const ConvShape& s, ThreadPool* pool) {
  SCOPED_TRACE(testing::Message() << s.in_channels << " channels, " << s.out_group() << " each, filter "
                                  << s.filter_height << " x " << s.filter_width << ", stride " << s.stride_width
                                  << ", dilation " << s.dilation_width << ", padding " << s.pad_left);
  const auto x = Numbers<T>(s.input_size(), 1), w = Numbers<T>(s.filter_size(), 5), dy = Numbers<T>(s.output_size(), 9);
  std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
  ForEachProduct(s, [&](int64_t i, int64_t f, int64_t o) {
    y[o] += static_cast<double>(x[i]) * static_cast<double>(w[f]);
    dx[i] += static_cast<double>(dy[o]) * static_cast<double>(w[f]);
    dw[f] += static_cast<double>(dy[o]) * static_cast<double>(x[i]);
  });
  std::vector<T> got_y(y.size(), T(99)), got_dx(dx.size(), T(99)), got_dw(dw.size(), T(99));
  DepthwiseForward(s, x.data(), w.data(), got_y.data(), pool);
  ExpectNear(got_y, y);
  DepthwiseBackpropInput(s, w.data(), dy.data(), got_dx.data(), pool);
  ExpectNear(got_dx, dx);
  DepthwiseBackpropFilter(s, x.data(), dy.data(), got_dw.data(), pool);
  ExpectNear(got_dw, dw);
}

ConvShape MakeShape(int64_t channels, int64_t multiplier, int64_t filter, int64_t stride, int64_t dilation,
                    int64_t pad) {
  ConvShape s;
  s.batch = 2, s.in_height = 9, s.in_width = 11, s.in_channels = s.groups = channels;
  s.out_channels = channels * multiplier;
  s.filter_height = filter, s.filter_width = filter + 1;
  s.stride_height = s.stride_width = stride;
  s.dilation_height = s.dilation_width = dilation;
  s.pad_top = s.pad_left = pad;
  s.out_height = std::max<int64_t>(1, (s.in_height + 2 * pad - (s.filter_height - 1) * dilation - 1) / stride + 1);
  s.out_width = std::max<int64_t>(1, (s.in_width + 2 * pad - (s.filter_width - 1) * dilation - 1) / stride + 1);
  return s;
}

template <typename T>
void CheckAll() {
  ThreadPool pool(2);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const int64_t channels : {1, 3, 8, 16, 19, 33}) {
      for (const int64_t multiplier : {1, 2}) {
        for (const int64_t filter : {1, 2, 3, 5}) {
          for (const int64_t stride : {1, 2}) {
            for (const int64_t pad : {0, 1, 4})
              Check<T>(MakeShape(channels, multiplier, filter, stride, 1, pad), &pool);
          }
        }
        Check<T>(MakeShape(channels, multiplier, 3, 1, 2, 2), nullptr);
      }
    }
    // Done in several blocks, the last of which would be too narrow; rows of three and of five columns.
    for (const int64_t channels : {270, 700}) {
      for (const int64_t filter : {2, 4}) {
        for (const int64_t stride : {1, 2}) Check<T>(MakeShape(channels, 1, filter, stride, 1, 2), &pool);
      }
    }
  }
}

TEST(DepthwiseTest, EveryShapeAndInstructionSet) {
  CheckAll<float>();
  CheckAll<double>();
}

}  // namespace
}  // namespace millstream
