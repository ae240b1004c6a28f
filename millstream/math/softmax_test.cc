// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "millstream/math/simd.h"
#include "millstream/tensor/float16.h"

namespace millstream::math {
namespace {

constexpr simd::Isa kAllIsas[] = {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512};
constexpr RowShape kShapes[] = {{0, 5},  {4, 0},    {1, 1},    {3, 2},    {7, 10},   {300, 10},
                                {5, 33}, {2, 1000}, {3, 1024}, {3, 1025}, {2, 5003}, {40, 100}};

template <typename T>
struct Example {
  std::vector<T> logits, labels;
  std::vector<double> softmax, log_softmax, loss;
};

template <typename T>
Example<T> MakeExample(RowShape s) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 4);
  std::uniform_real_distribution<float> uniform(0, 1);
  Example<T> e;
  for (int64_t r = 0; r < s.rows; ++r) {
    double sum = 0, loss = 0;
    const size_t first = e.logits.size();
    for (int64_t j = 0; j < s.classes; ++j) {
      e.logits.push_back(static_cast<T>(normal(random) + 50.0f * (r % 3)));
      e.labels.push_back(static_cast<T>(uniform(random) / s.classes));
      sum += std::exp(static_cast<double>(e.logits.back()));
    }
    for (int64_t j = 0; j < s.classes; ++j) {
      const double x = e.logits[first + j];
      e.softmax.push_back(std::exp(x) / sum);
      e.log_softmax.push_back(x - std::log(sum));
      loss -= e.labels[first + j] * e.log_softmax.back();
    }
    e.loss.push_back(loss);
  }
  return e;
}

template <typename T>
void ExpectNear(const std::vector<T>& got, const std::vector<double>& want, double tolerance, double floor = 0.0) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance * (std::fabs(want[i]) + floor)) << "at " << i;
  }
}

template <typename T>
void ExpectAllCorrect(RowShape s, ThreadPool* pool, double tolerance) {
  const Example<T> e = MakeExample<T>(s);
  const size_t size = e.logits.size();
  std::vector<T> out = e.logits, loss(s.rows), backprop(size);
  Softmax(out.data(), out.data(), s, pool);
  ExpectNear(out, e.softmax, tolerance, tolerance);
  LogSoftmax(e.logits.data(), out.data(), s, pool);
  ExpectNear(out, e.log_softmax, tolerance, 1.0);

  std::vector<double> want(size);
  if (size > 0) {
    SoftmaxCrossEntropy(e.logits.data(), e.labels.data(), loss.data(), backprop.data(), s, pool);
    ExpectNear(loss, e.loss, 4 * tolerance, 1.0);
    for (size_t i = 0; i < size; ++i) want[i] = e.softmax[i] - e.labels[i];
    for (size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(backprop[i], want[i], tolerance);
    }
  }

  std::vector<int32_t> labels(s.rows);
  std::vector<double> sparse_loss(s.rows);
  want = e.softmax;
  for (int64_t r = 0; r < s.rows && size > 0; ++r) {
    labels[r] = static_cast<int32_t>(r * 31 % s.classes);
    want[r * s.classes + labels[r]] -= 1;
    sparse_loss[r] = -e.log_softmax[r * s.classes + labels[r]];
  }
  SparseSoftmaxCrossEntropy(e.logits.data(), labels.data(), loss.data(), backprop.data(), s, pool);
  if (size > 0) ExpectNear(loss, sparse_loss, 4 * tolerance, 1.0);
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(backprop[i], want[i], tolerance);
  }
}

TEST(SoftmaxTest, MatchesNaiveLoops) {
  ThreadPool pool(3);
  for (simd::Isa isa : kAllIsas) {
    simd::ScopedIsa forced(isa);
    for (RowShape s : kShapes) {
      for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), &pool}) {
        SCOPED_TRACE(::testing::Message() << s.rows << "x" << s.classes);
        ExpectAllCorrect<float>(s, p, 1.5e-6);
        ExpectAllCorrect<double>(s, p, 1e-13);
        ExpectAllCorrect<BFloat16>(s, p, 1e-2);
        ExpectAllCorrect<Half>(s, p, 2e-3);
      }
    }
  }
}

TEST(SoftmaxTest, LabelOutOfRangeGivesNan) {
  const std::vector<float> logits = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const int64_t labels[] = {-1, 1, 3};
  float loss[3];
  std::vector<float> backprop(9);
  SparseSoftmaxCrossEntropy(logits.data(), labels, loss, backprop.data(), {3, 3}, nullptr);
  EXPECT_TRUE(std::isnan(loss[0]));
  EXPECT_FALSE(std::isnan(loss[1]));
  EXPECT_TRUE(std::isnan(loss[2]));
  EXPECT_TRUE(std::isnan(backprop[0]));
  EXPECT_FALSE(std::isnan(backprop[4]));
  EXPECT_TRUE(std::isnan(backprop[8]));
}

}  // namespace
}  // namespace millstream::math
