// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "millstream/math/conv/conv_fold.h"
#include "millstream/math/conv/conv_generic.h"
#include "millstream/math/conv/conv_implicit.h"
#include "millstream/math/conv/conv_winograd.h"
#include "millstream/math/gemm/gemm_kernels.h"

namespace millstream::math {
namespace {

std::vector<double> Random(int64_t size, int seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(size);
  for (double& x : values) x = static_cast<float>(uniform(generator));
  return values;
}

template <typename T>
std::vector<T> As(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

// `same` pads as TensorFlow's SAME does; otherwise VALID.
ConvShape Shape(int64_t batch, int64_t size, int64_t in, int64_t filter, int64_t out, int64_t stride, bool same) {
  ConvShape s;
  s.batch = batch, s.in_height = size, s.in_width = size + 1, s.in_channels = in, s.out_channels = out;
  s.filter_height = s.filter_width = filter;
  s.stride_height = s.stride_width = stride;
  const auto set = [&](int64_t in_size, int64_t* out_size, int64_t* pad) {
    *out_size = same ? (in_size + stride - 1) / stride : (in_size - filter) / stride + 1;
    *pad = std::max<int64_t>(0, (*out_size - 1) * stride + filter - in_size) / 2;
  };
  set(s.in_height, &s.out_height, &s.pad_top);
  set(s.in_width, &s.out_width, &s.pad_left);
  return s;
}

std::vector<ConvShape> Shapes() {
  std::vector<ConvShape> shapes = {
      Shape(2, 8, 1, 5, 32, 1, true),   Shape(3, 14, 32, 5, 64, 1, true),  Shape(1, 9, 3, 3, 7, 1, false),
      Shape(2, 10, 4, 3, 6, 2, true),   Shape(2, 7, 5, 1, 9, 1, true),     Shape(2, 7, 5, 1, 9, 2, true),
      Shape(1, 28, 1, 5, 32, 1, true),  Shape(4, 5, 2, 5, 3, 1, false),    Shape(0, 5, 2, 3, 3, 1, true),
      Shape(5, 6, 16, 3, 16, 1, true),  Shape(2, 11, 8, 4, 8, 3, false),   Shape(1, 3, 2, 5, 2, 1, true),
      Shape(2, 13, 17, 5, 19, 1, true), Shape(2, 13, 17, 3, 33, 1, true),  Shape(1, 30, 8, 7, 4, 2, true),
      Shape(9, 7, 16, 3, 32, 1, true),  Shape(2, 17, 32, 3, 16, 1, false), Shape(3, 14, 16, 5, 16, 1, false),
      Shape(5, 14, 16, 5, 16, 2, true), Shape(5, 15, 16, 6, 16, 2, true),  Shape(8, 16, 20, 5, 16, 2, false)};
  for (const int64_t stride : {2, 3}) {
    for (const int64_t filter : {1, 2, 3, 4, 5, 7}) {
      for (const bool same : {false, true}) shapes.push_back(Shape(3, 21, 9, filter, 10, stride, same));
    }
  }
  ConvShape mixed = Shape(3, 14, 8, 3, 8, 2, true);  // a stride down alone
  mixed.stride_width = 1, mixed.out_width = mixed.in_width, mixed.pad_left = 1;
  shapes.push_back(mixed);
  ConvShape grouped = Shape(2, 8, 6, 3, 4, 1, true);
  grouped.groups = 2;
  shapes.push_back(grouped);
  grouped.groups = 1, grouped.dilation_height = 2, grouped.dilation_width = 3;
  grouped.pad_top = 2, grouped.pad_left = 3;
  shapes.push_back(grouped);
  ConvShape uneven = Shape(2, 9, 3, 3, 5, 1, false);
  uneven.pad_top = 2, uneven.pad_left = 1, uneven.out_height += 3, uneven.out_width += 5;
  shapes.push_back(uneven);
  ConvShape grouped_stride = Shape(2, 9, 6, 3, 9, 2, true);
  grouped_stride.groups = 3;
  shapes.push_back(grouped_stride);
  return shapes;
}

std::string Name(const ConvShape& s) {
  return absl::StrCat("batch ", s.batch, " ", s.in_height, "x", s.in_width, "x", s.in_channels, " filter ",
                      s.filter_height, " to ", s.out_channels, " stride ", s.stride_height, " groups ", s.groups);
}

template <typename T>
void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected, double tolerance) {
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

template <typename T>
void CheckForward(const ConvShape& s, double tolerance, ThreadPool* pool) {
  const auto input = Random(s.input_size(), 1), filter = Random(s.filter_size(), 2), bias = Random(s.out_channels, 3);
  std::vector<double> expected(s.output_size());
  Conv2DGeneric<double>(s, input.data(), filter.data(), expected.data(), {bias.data(), Activation::kRelu}, nullptr);
  const auto input_t = As<T>(input), filter_t = As<T>(filter), bias_t = As<T>(bias);
  std::vector<T> actual(s.output_size(), T(77));
  Conv2D(s, input_t.data(), filter_t.data(), actual.data(), {bias_t.data(), Activation::kRelu}, pool);
  ExpectNear(actual, expected, tolerance);
}

template <typename T>
void CheckGradients(const ConvShape& s, double tolerance, ThreadPool* pool) {
  const auto input = Random(s.input_size(), 1), filter = Random(s.filter_size(), 2), grad = Random(s.output_size(), 3);
  const auto input_t = As<T>(input), filter_t = As<T>(filter), grad_t = As<T>(grad);
  std::vector<double> expected(s.input_size());
  std::vector<T> actual(s.input_size(), T(77));
  Conv2DBackpropInputGeneric<double>(s, filter.data(), grad.data(), expected.data(), nullptr);
  Conv2DBackpropInput(s, filter_t.data(), grad_t.data(), actual.data(), pool);
  ExpectNear(actual, expected, tolerance);
  expected.assign(s.filter_size(), 0), actual.assign(s.filter_size(), T(77));
  Conv2DBackpropFilterGeneric<double>(s, input.data(), grad.data(), expected.data(), nullptr);
  Conv2DBackpropFilter(s, input_t.data(), grad_t.data(), actual.data(), pool);
  ExpectNear(actual, expected, tolerance);
}

class ConvTest : public ::testing::TestWithParam<simd::Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > simd::BestIsa()) GTEST_SKIP() << "not on this machine";
  }

 private:
  const simd::ScopedIsa isa_{GetParam()};
};

TEST_P(ConvTest, MatchesPlainLoops) {
  for (const ConvShape& s : Shapes()) {
    SCOPED_TRACE(Name(s));
    CheckForward<float>(s, 2e-4, nullptr);
    CheckForward<double>(s, 1e-11, nullptr);
    CheckGradients<float>(s, 2e-4, nullptr);
    CheckGradients<double>(s, 1e-11, nullptr);
  }
}

TEST(ConvFoldTest, TakesWideFiltersWithStridesOfTwo) {
  const std::vector<ConvShape> shapes = Shapes();
  EXPECT_GE(std::count_if(shapes.begin(), shapes.end(), FoldedConvFits), 3);
  EXPECT_FALSE(FoldedConvFits(Shape(5, 14, 16, 3, 16, 2, true)));
  EXPECT_FALSE(FoldedConvFits(Shape(5, 14, 16, 5, 16, 3, true)));
}

INSTANTIATE_TEST_SUITE_P(Isas, ConvTest, ::testing::Values(simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512));

TEST(ConvThreadsTest, MatchesPlainLoops) {
  ThreadPool pool(3);
  for (const ConvShape& s : Shapes()) {
    SCOPED_TRACE(Name(s));
    CheckForward<float>(s, 2e-4, &pool);
    CheckGradients<float>(s, 2e-4, &pool);
  }
}

// The largest error of a forward convolution, in units of the root mean square
// of the result.
double WorstError(const ConvShape& s, const std::vector<float>& actual) {
  const auto input = Random(s.input_size(), 1), filter = Random(s.filter_size(), 2);
  std::vector<double> expected(s.output_size());
  Conv2DGeneric<double>(s, input.data(), filter.data(), expected.data(), {}, nullptr);
  double worst = 0, squares = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(actual[i] - expected[i]));
    squares += expected[i] * expected[i];
  }
  return worst / std::sqrt(squares / static_cast<double>(expected.size()));
}

TEST(ConvWinogradTest, ErrorsStaySmall) {
  for (int64_t filter : {3, 5}) {
    const ConvShape s = Shape(4, 14, 32, filter, 64, 1, true);
    ASSERT_TRUE(WinogradFits(s));
    const auto input = As<float>(Random(s.input_size(), 1)), weights = As<float>(Random(s.filter_size(), 2));
    std::vector<float> winograd(s.output_size()), direct(s.output_size());
    WinogradConv(s, input.data(), weights.data(), winograd.data(), {}, nullptr);
    ImplicitConv<float>(s, input.data(), weights.data(), direct.data(), DenseOutput(s), {}, nullptr);
    EXPECT_LT(WorstError(s, direct), 1e-5);
    EXPECT_LT(WorstError(s, winograd), 5e-5);
  }
}

TEST(ConvGenericTest, HandComputed) {
  ConvShape s;
  s.in_height = 1, s.in_width = 4, s.filter_width = 2, s.out_width = 3;
  const int32_t input[] = {1, 2, 3, 4}, filter[] = {10, 1}, grad[] = {1, 1, 2};
  std::vector<int32_t> output(3), in_grad(4), filter_grad(2);
  Conv2DGeneric<int32_t>(s, input, filter, output.data(), {}, nullptr);
  EXPECT_EQ(output, (std::vector<int32_t>{12, 23, 34}));
  Conv2DBackpropInputGeneric<int32_t>(s, filter, grad, in_grad.data(), nullptr);
  EXPECT_EQ(in_grad, (std::vector<int32_t>{10, 11, 21, 2}));
  Conv2DBackpropFilterGeneric<int32_t>(s, input, grad, filter_grad.data(), nullptr);
  EXPECT_EQ(filter_grad, (std::vector<int32_t>{9, 13}));
}

}  // namespace
}  // namespace millstream::math
