// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "millstream/math/conv/pool_inl.h"
#include "millstream/math/simd.h"

namespace millstream::math {
namespace {

// Few distinct values, so that windows have equal maxima.
std::vector<float> Random(int64_t size, int seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(size);
  for (float& x : values) x = static_cast<float>(generator() % 5) - 2;
  return values;
}

std::vector<PoolShape> Shapes() {
  return {{3, 4, 6, 5, 2, 3, 2, 2, 2, 2, 0, 0}, {2, 5, 5, 70, 3, 3, 3, 3, 2, 2, 1, 1},
          {1, 7, 6, 1, 7, 6, 3, 2, 1, 1, 1, 0}, {2, 14, 14, 64, 7, 7, 2, 2, 2, 2, 0, 0},
          {0, 4, 4, 3, 2, 2, 2, 2, 2, 2, 0, 0}, {2, 3, 3, 4, 1, 1, 3, 3, 1, 1, 0, 0},
          {2, 8, 9, 3, 4, 5, 2, 2, 2, 2, 0, 0}, {1, 9, 11, 20, 9, 11, 3, 3, 1, 1, 1, 1},
          {3, 5, 7, 5, 5, 7, 3, 3, 1, 1, 1, 1}, {1, 6, 40, 1, 3, 20, 2, 2, 2, 2, 0, 0}};
}

int64_t InSize(const PoolShape& s) { return s.batch * s.in_height * s.in_width * s.channels; }
int64_t OutSize(const PoolShape& s) { return s.batch * s.out_height * s.out_width * s.channels; }

// Everything at once, one output element after the other.
struct Naive {
  explicit Naive(const PoolShape& s, const std::vector<float>& in, const std::vector<float>& grad)
      : maximum(OutSize(s)), argmax(OutSize(s)), average(OutSize(s)), max_grad(InSize(s)), avg_grad(InSize(s)) {
    for (int64_t o = 0; o < OutSize(s); ++o) Element(s, in, grad, o);
  }
  void Element(const PoolShape& s, const std::vector<float>& in, const std::vector<float>& grad, int64_t o) {
    const int64_t c = o % s.channels, ox = o / s.channels % s.out_width;
    const int64_t oy = o / s.channels / s.out_width % s.out_height;
    const int64_t n = o / s.channels / s.out_width / s.out_height;
    std::vector<int64_t> pixels;
    for (int64_t wy = 0; wy < s.window_height; ++wy) {
      for (int64_t wx = 0; wx < s.window_width; ++wx) {
        const int64_t y = oy * s.stride_height - s.pad_top + wy, x = ox * s.stride_width - s.pad_left + wx;
        if (y < 0 || y >= s.in_height || x < 0 || x >= s.in_width) continue;
        pixels.push_back(((n * s.in_height + y) * s.in_width + x) * s.channels + c);
      }
    }
    argmax[o] = pixels[0];
    for (int64_t p : pixels) {
      if (in[p] > in[argmax[o]]) argmax[o] = p;
      average[o] += in[p] / pixels.size();
      avg_grad[p] += grad[o] / pixels.size();
    }
    maximum[o] = in[argmax[o]];
    max_grad[argmax[o]] += grad[o];
  }
  std::vector<float> maximum;
  std::vector<int64_t> argmax;
  std::vector<float> average, max_grad, avg_grad;
};

void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-5) << "at " << i;
}

TEST(PoolTest, MatchesNaive) {
  ThreadPool pool(2);
  for (const PoolShape& s : Shapes()) {
    const auto in = Random(InSize(s), 1), grad = Random(OutSize(s), 2);
    const Naive naive(s, in, grad);
    std::vector<float> out(OutSize(s), 77), in_grad(InSize(s), 77);
    std::vector<int64_t> argmax(OutSize(s));
    MaxPoolWithArgmax(s, in.data(), true, out.data(), argmax.data(), &pool);
    EXPECT_EQ(out, naive.maximum);
    EXPECT_EQ(argmax, naive.argmax);
    std::fill(out.begin(), out.end(), 77);
    MaxPool(s, in.data(), out.data(), &pool);
    EXPECT_EQ(out, naive.maximum);
    MaxPoolGrad(s, in.data(), out.data(), grad.data(), in_grad.data(), &pool);
    ExpectNear(in_grad, naive.max_grad);
    std::vector<float> picked(OutSize(s), 77);
    const auto grad_grad = Random(InSize(s), 3);
    MaxPoolGradGrad(s, in.data(), out.data(), grad_grad.data(), picked.data(), nullptr);
    for (int64_t i = 0; i < OutSize(s); ++i) ASSERT_EQ(picked[i], grad_grad[naive.argmax[i]]);
    AvgPool(s, in.data(), out.data(), &pool);
    ExpectNear(out, naive.average);
    AvgPoolGrad(s, grad.data(), in_grad.data(), &pool);
    ExpectNear(in_grad, naive.avg_grad);
  }
}

template <typename T>
std::vector<T> As(const std::vector<float>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
void ExpectAllMatchNaive(const PoolShape& s, ThreadPool* pool) {
  const auto in = Random(InSize(s), 4), grad = Random(OutSize(s), 5);
  const Naive naive(s, in, grad);
  const std::vector<T> x = As<T>(in), dy = As<T>(grad);
  std::vector<T> out(OutSize(s), 77), in_grad(InSize(s), 77);
  std::vector<int64_t> argmax(OutSize(s));
  MaxPoolWithArgmax(s, x.data(), true, out.data(), argmax.data(), pool);
  EXPECT_EQ(argmax, naive.argmax);
  EXPECT_EQ(std::vector<float>(out.begin(), out.end()), naive.maximum);
  std::fill(out.begin(), out.end(), T(77));
  MaxPool(s, x.data(), out.data(), pool);
  EXPECT_EQ(std::vector<float>(out.begin(), out.end()), naive.maximum);
  MaxPoolGrad(s, x.data(), out.data(), dy.data(), in_grad.data(), pool);
  ExpectNear(std::vector<float>(in_grad.begin(), in_grad.end()), naive.max_grad);
  std::vector<T> picked(OutSize(s), 77);
  MaxPoolGradGrad(s, x.data(), out.data(), x.data(), picked.data(), pool);
  EXPECT_EQ(picked, out);
  if constexpr (!std::is_integral_v<T>) {
    AvgPool(s, x.data(), out.data(), pool);
    ExpectNear(std::vector<float>(out.begin(), out.end()), naive.average);
    AvgPoolGrad(s, dy.data(), in_grad.data(), pool);
    ExpectNear(std::vector<float>(in_grad.begin(), in_grad.end()), naive.avg_grad);
  }
}

// Channels are done by blocks of several sizes. Windows: overlapping, side by side, with gaps.
TEST(PoolTest, AnyNumberOfChannelsWithEveryInstructionSet) {
  ThreadPool pool(2);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const int64_t channels : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 20, 31, 39, 64, 65, 83, 130}) {
      for (const PoolShape& s :
           {PoolShape{2, 5, 4, channels, 5, 4, 3, 3, 1, 1, 1, 1}, PoolShape{1, 6, 8, channels, 3, 4, 2, 2, 2, 2, 0, 0},
            PoolShape{1, 7, 8, channels, 3, 3, 1, 2, 3, 3, 0, 0},
            PoolShape{2, 5, 7, channels, 3, 4, 2, 2, 2, 2, 0, 0}}) {
        ExpectAllMatchNaive<float>(s, &pool);
        ExpectAllMatchNaive<double>(s, nullptr);
        ExpectAllMatchNaive<int32_t>(s, nullptr);
        ExpectAllMatchNaive<int8_t>(s, nullptr);
      }
    }
  }
}

// A NaN stays the maximum if it comes first and is never chosen otherwise; the gradient follows it.
TEST(PoolTest, NotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const PoolShape s{1, 2, 2, 2, 1, 1, 2, 2, 2, 2, 0, 0};
  const std::vector<float> in = {nan, 1, 2, nan, 3, 4, 5, 2};
  std::vector<float> out(2), in_grad(8), grad = {10, 20};
  MaxPool(s, in.data(), out.data(), nullptr);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 4);
  MaxPoolGrad(s, in.data(), out.data(), grad.data(), in_grad.data(), nullptr);
  EXPECT_EQ(in_grad, (std::vector<float>{10, 0, 0, 0, 0, 20, 0, 0}));
}

TEST(PoolTest, OtherTypes) {
  const PoolShape s{1, 2, 2, 1, 1, 1, 2, 2, 2, 2, 0, 0};
  const int32_t in[4] = {1, 7, 7, 5}, grad[1] = {3};
  int32_t out[1], in_grad[4];
  MaxPool(s, in, out, nullptr);
  EXPECT_EQ(out[0], 7);
  MaxPoolGrad(s, in, out, grad, in_grad, nullptr);
  EXPECT_EQ(std::vector<int32_t>(in_grad, in_grad + 4), (std::vector<int32_t>{0, 3, 0, 0}));
  AvgPool(s, in, out, nullptr);
  EXPECT_EQ(out[0], 5);
}

}  // namespace
}  // namespace millstream::math
