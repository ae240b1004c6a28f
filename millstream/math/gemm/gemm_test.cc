// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/gemm/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "millstream/math/gemm/gemm_block.h"
#include "millstream/math/gemm/gemm_generic.h"
#include "millstream/math/gemm/gemm_kernels.h"

namespace millstream::math {
namespace {

template <typename T>
std::vector<T> Random(int64_t size, int seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(size);
  for (T& x : values) x = static_cast<T>(uniform(generator));
  return values;
}

template <typename T>
T Activated(T x, Activation activation) {
  if (activation == Activation::kNone) return x;
  x = std::max(x, T(0));
  return activation == Activation::kRelu6 ? std::min(x, T(6)) : x;
}

template <typename T>
void NaiveGemm(const GemmArgs<T>& g) {
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < g.k; ++p) {
        sum += static_cast<double>(g.trans_a ? g.a[p * g.lda + i] : g.a[i * g.lda + p]) *
               (g.trans_b ? g.b[j * g.ldb + p] : g.b[p * g.ldb + j]);
      }
      T& c = g.c[i * g.ldc + j];
      double x = g.alpha * sum + (g.accumulate ? c : 0) + (g.bias ? g.bias[j] : 0);
      c = static_cast<T>(Activated(x, g.activation));
    }
  }
}

struct Shape {
  int64_t m, n, k;
};

// Operands of one product with gaps between rows, and the naive result.
template <typename T>
class Problem {
 public:
  Problem(Shape s, bool trans_a, bool trans_b)
      : a_(Random<T>((s.m + 3) * (s.k + 3) + 16, 1)),
        b_(Random<T>((s.n + 3) * (s.k + 3) + 16, 2)),
        c_(Random<T>(s.m * (s.n + 2), 3)),
        bias_(Random<T>(s.n, 4)) {
    args.m = s.m, args.n = s.n, args.k = s.k;
    args.trans_a = trans_a, args.trans_b = trans_b;
    args.a = a_.data(), args.b = b_.data();
    args.lda = (trans_a ? s.m : s.k) + 3, args.ldb = (trans_b ? s.k : s.n) + 1, args.ldc = s.n + 2;
  }
  void UseEpilogue() {
    args.alpha = T(0.5), args.accumulate = true, args.bias = bias_.data(), args.activation = Activation::kRelu;
  }
  template <typename Fn>
  void Check(Fn multiply) {
    std::vector<T> expected = c_, actual = c_;
    args.c = expected.data();
    NaiveGemm(args);
    args.c = actual.data();
    multiply(args);
    const double tolerance = (sizeof(T) == 4 ? 2e-6 : 1e-14) * (4 + args.k);
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], tolerance)
          << "at " << i << " of " << args.m << "x" << args.n << "x" << args.k << " ta=" << args.trans_a
          << " tb=" << args.trans_b << " isa=" << static_cast<int>(simd::ActiveIsa());
    }
  }
  GemmArgs<T> args;

 private:
  std::vector<T> a_, b_, c_, bias_;
};

class GemmTest : public ::testing::TestWithParam<simd::Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > simd::BestIsa()) GTEST_SKIP() << "not on this machine";
  }

 private:
  const simd::ScopedIsa isa_{GetParam()};
};

const Shape kShapes[] = {{1, 1, 1},   {1, 17, 5},    {5, 1, 33},   {3, 7, 1},      {13, 10, 100}, {100, 10, 784},
                         {78, 10, 9}, {33, 49, 50},  {2, 100, 64}, {16, 16, 16},   {31, 500, 37}, {100, 78, 10},
                         {7, 3, 513}, {29, 65, 600}, {14, 32, 8},  {15, 33, 1025}, {6, 130, 20},  {70, 70, 70}};

template <typename T>
void CheckAllPaths(bool epilogue) {
  for (const Shape& shape : kShapes) {
    for (int trans = 0; trans < 4; ++trans) {
      Problem<T> problem(shape, trans & 1, trans & 2);
      if (epilogue) problem.UseEpilogue();
      problem.Check([](const GemmArgs<T>& args) { Gemm(args, nullptr); });
      for (GemmPath path : {GemmPath::kRows, GemmPath::kColumns, GemmPath::kDots}) {
        problem.Check([path](const GemmArgs<T>& args) { GemmBlock(args, path); });
      }
    }
  }
}

TEST_P(GemmTest, MatchesNaiveFloat) { CheckAllPaths<float>(false); }
TEST_P(GemmTest, MatchesNaiveDouble) { CheckAllPaths<double>(false); }
TEST_P(GemmTest, EpilogueFloat) { CheckAllPaths<float>(true); }
TEST_P(GemmTest, EpilogueDouble) { CheckAllPaths<double>(true); }

TEST_P(GemmTest, LongSumsAndWideOutputs) {
  for (const Shape& shape : {Shape{3, 5, 9000}, Shape{17, 3000, 130}, Shape{3000, 17, 130}, Shape{1, 1030, 130},
                             Shape{3, 1030, 67}, Shape{4, 70, 1001}}) {
    for (int trans = 0; trans < 4; ++trans) {
      Problem<float> problem(shape, trans & 1, trans & 2);
      problem.UseEpilogue();
      for (GemmPath path : {GemmPath::kRows, GemmPath::kColumns}) {
        problem.Check([path](const GemmArgs<float>& args) { GemmBlock(args, path); });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, GemmTest, ::testing::Values(simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512));

TEST(GemmThreadsTest, MatchesNaive) {
  ThreadPool pool(3);
  for (const Shape& shape : {Shape{200, 10, 784}, Shape{25, 32, 20000}, Shape{130, 300, 70}, Shape{1, 4000, 300},
                             Shape{784, 100, 100}, Shape{2, 2, 60000}}) {
    for (int trans = 0; trans < 4; ++trans) {
      Problem<float> problem(shape, trans & 1, trans & 2);
      problem.UseEpilogue();
      problem.Check([&](const GemmArgs<float>& args) { Gemm(args, &pool); });
    }
  }
}

TEST(GemmEmptyTest, NoTermsGiveBias) {
  float c[6] = {1, 2, 3, 4, 5, 6};
  const float bias[3] = {-1, 0, 8};
  GemmArgs<float> args;
  args.m = 2, args.n = 3, args.k = 0, args.c = c, args.bias = bias, args.activation = Activation::kRelu6;
  Gemm(args, nullptr);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(c[i], std::min(std::max(bias[i % 3], 0.0f), 6.0f));
  args.m = 0;
  Gemm(args, nullptr);
}

TEST(GemmNanTest, ReluKeepsNan) {
  const float a[1] = {NAN}, b[20] = {1, 2, 3};
  float c[20];
  GemmArgs<float> args;
  args.m = 1, args.n = 20, args.k = 1, args.a = a, args.b = b, args.c = c, args.activation = Activation::kRelu;
  Gemm(args, nullptr);
  for (float x : c) EXPECT_TRUE(std::isnan(x));
}

TEST(BatchGemmTest, RepeatsAnOperand) {
  ThreadPool pool(2);
  const int64_t m = 9, n = 11, k = 13, batch = 7;
  const auto a = Random<float>(m * k, 1), b = Random<float>(batch * k * n, 2);
  std::vector<float> c(batch * m * n), expected(m * n);
  BatchGemmArgs<float> args;
  args.first.m = m, args.first.n = n, args.first.k = k;
  args.first.a = a.data(), args.first.b = b.data(), args.first.c = c.data();
  args.batch = batch, args.stride_b = k * n, args.stride_c = m * n;
  BatchGemm(args, &pool);
  for (int64_t i = 0; i < batch; ++i) {
    GemmArgs<float> one = args.first;
    one.lda = k, one.ldb = n, one.ldc = n, one.b += i * k * n, one.c = expected.data();
    NaiveGemm(one);
    for (int64_t j = 0; j < m * n; ++j) ASSERT_NEAR(c[i * m * n + j], expected[j], 1e-4);
  }
}

TEST(GemmGenericTest, Integers) {
  const int32_t a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, -1, 2, 3, 1};
  int32_t c[4] = {10, 10, 10, 10};
  GemmArgs<int32_t> args;
  args.m = 2, args.n = 2, args.k = 3, args.a = a, args.b = b, args.c = c, args.accumulate = true;
  GemmGeneric(args, nullptr);
  EXPECT_THAT(c, ::testing::ElementsAre(18, 17, 27, 26));
}

// Products of numbers that overflow, which wrap.
template <typename T>
void ExpectIntegerProduct(int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, ThreadPool* pool) {
  using U = std::make_unsigned_t<T>;
  std::mt19937_64 generator(7);
  std::vector<T> a(m * k), b(k * n), c(m * n), bias(n), expected(m * n);
  for (std::vector<T>* values : {&a, &b, &c, &bias}) {
    for (T& x : *values) x = static_cast<T>(generator());
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      uint64_t sum = static_cast<U>(c[i * n + j]) + static_cast<uint64_t>(static_cast<U>(bias[j]));
      for (int64_t p = 0; p < k; ++p) {
        sum += static_cast<uint64_t>(static_cast<U>(a[trans_a ? p * m + i : i * k + p])) *
               static_cast<U>(b[trans_b ? j * k + p : p * n + j]);
      }
      expected[i * n + j] = static_cast<T>(sum);
    }
  }
  GemmArgs<T> args;
  args.m = m, args.n = n, args.k = k, args.a = a.data(), args.b = b.data(), args.c = c.data();
  args.trans_a = trans_a, args.trans_b = trans_b, args.accumulate = true, args.bias = bias.data();
  GemmGeneric(args, pool);
  EXPECT_EQ(c, expected) << m << " x " << n << " x " << k;
}

TEST(GemmGenericTest, IntegersOfAllShapesWrap) {
  ThreadPool pool(3);
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const int64_t n : {1, 31, 70}) {
      for (const int64_t k : {0, 3, 600}) {
        for (const bool trans_a : {false, true}) {
          ExpectIntegerProduct<int16_t>(5, n, k, trans_a, true, nullptr);
          ExpectIntegerProduct<int32_t>(9, n, k, trans_a, false, &pool);
          ExpectIntegerProduct<int32_t>(4, n, k, trans_a, true, nullptr);
          ExpectIntegerProduct<int64_t>(7, n, k, trans_a, false, &pool);
        }
      }
    }
  }
}

TEST(GemmGenericTest, ComplexAdjoint) {
  using C = std::complex<float>;
  const C a[2] = {{1, 2}, {3, -1}}, b[2] = {{0, 1}, {2, 2}};
  C c;
  GemmArgs<C> args;
  args.m = 1, args.n = 1, args.k = 2, args.a = a, args.b = b, args.c = &c;
  args.trans_a = true, args.conj_a = true;
  GemmGeneric(args, nullptr);
  EXPECT_EQ(c, std::conj(a[0]) * b[0] + std::conj(a[1]) * b[1]);
}

// Stands for the 16-bit floats: converts to and from float and has no
// arithmetic.
struct Short {
  explicit Short(float x = 0) : value(x) {}
  explicit operator float() const { return value; }
  float value;
};

TEST(GemmGenericTest, SixteenBitFloatsSumInFloat) {
  const std::vector<Short> a(5, Short(2)), b(5, Short(3));
  Short c;
  GemmArgs<Short> args;
  args.m = 1, args.n = 1, args.k = 5, args.a = a.data(), args.b = b.data(), args.c = &c, args.trans_b = true;
  GemmGeneric(args, nullptr);
  EXPECT_EQ(c.value, 30);
}

}  // namespace
}  // namespace millstream::math
