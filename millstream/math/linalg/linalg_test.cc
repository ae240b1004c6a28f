// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/linalg/linalg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "millstream/math/simd.h"

namespace millstream::math {
namespace {

template <typename T>
class LinalgTest : public ::testing::Test {
 protected:
  using Real = typename RealOf<T>::type;
  using Vector = std::vector<T>;
  static constexpr bool kComplex = !std::is_same_v<T, Real>;
  static constexpr double kTolerance = sizeof(Real) == sizeof(float) ? 1e-4 : 1e-11;

  static Vector Random(int64_t count) {
    std::mt19937 generator(static_cast<uint32_t>(count));
    std::normal_distribution<double> normal;
    Vector x(static_cast<size_t>(count));
    for (T& v : x) {
      v = static_cast<Real>(normal(generator));
      if constexpr (kComplex) v.imag(static_cast<Real>(normal(generator)));
    }
    return x;
  }
  static T Conj(T x) {
    if constexpr (kComplex) return std::conj(x);
    return x;
  }
  static Vector Adjoint(const Vector& a, int64_t rows, int64_t cols) {
    Vector t(a.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) t[j * rows + i] = Conj(a[i * cols + j]);
    }
    return t;
  }
  static Vector Product(const Vector& a, const Vector& b, int64_t m, int64_t k, int64_t n) {
    Vector c(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t l = 0; l < k; ++l) {
        for (int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
      }
    }
    return c;
  }
  // a a^H + n: positive definite.
  static Vector Positive(int64_t n) {
    const Vector a = Random(n * n);
    Vector c = Product(a, Adjoint(a, n, n), n, n, n);
    for (int64_t i = 0; i < n; ++i) c[i * n + i] += static_cast<Real>(n);
    return c;
  }
  static void ExpectNear(const Vector& a, const Vector& b, double scale = 1) {
    ASSERT_EQ(a.size(), b.size());
    double distance = 0;
    for (size_t i = 0; i < a.size(); ++i) distance = std::max(distance, static_cast<double>(std::abs(a[i] - b[i])));
    EXPECT_LE(distance, kTolerance * scale);
  }
  static void ExpectOrthonormal(const Vector& q, int64_t rows, int64_t cols) {
    Vector one(static_cast<size_t>(cols * cols));
    for (int64_t i = 0; i < cols; ++i) one[i * cols + i] = T(1);
    ExpectNear(Product(Adjoint(q, rows, cols), q, cols, rows, cols), one);
  }

  // Calls fn with each instruction set that this type has kernels for.
  template <typename Fn>
  static void ForEachIsa(Fn fn) {
    for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
      const simd::ScopedIsa scoped(isa);
      if (sizeof(T) == sizeof(float) && !HasFloatLinalg()) continue;
      SCOPED_TRACE(static_cast<int>(isa));
      fn(Linalg<T>());
    }
  }
};

using Types = ::testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(LinalgTest, Types);

TYPED_TEST(LinalgTest, LuAndTriangularSolves) {
  using T = TypeParam;
  this->ForEachIsa([&](const LinalgKernels<T>& kernels) {
    for (const int64_t n : {1, 2, 7, 40, 130}) {
      const int64_t columns = 5, stride = 7;
      auto a = this->Random(n * n);
      for (int64_t i = 0; i < n; ++i) a[i * n + (n - 1 - i)] += T(static_cast<float>(n));  // pivots not in order
      auto lu = a;
      std::vector<int64_t> order(static_cast<size_t>(n));
      const int sign = kernels.lu(n, lu.data(), order.data());
      int64_t inversions = 0;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = i + 1; j < n; ++j) inversions += order[i] > order[j] ? 1 : 0;
      }
      EXPECT_EQ(sign, inversions % 2 == 0 ? 1 : -1);
      // Solve a x = b by rows in order, then both factors.
      const auto b = this->Random(n * columns);
      std::vector<T> x(static_cast<size_t>(n * stride)), dense(static_cast<size_t>(n * columns));
      for (int64_t i = 0; i < n; ++i) std::copy_n(&b[order[i] * columns], columns, &x[i * stride]);
      kernels.triangular_solve(n, lu.data(), {.lower = true, .unit = true}, x.data(), columns, stride);
      kernels.triangular_solve(n, lu.data(), {.lower = false}, x.data(), columns, stride);
      for (int64_t i = 0; i < n; ++i) std::copy_n(&x[i * stride], columns, &dense[i * columns]);
      this->ExpectNear(this->Product(a, dense, n, n, columns), b, 10);
      // The adjoint of each factor.
      for (const bool lower : {true, false}) {
        auto y = this->Random(n * columns);
        auto triangle = this->Positive(n), product = y;
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            if (lower ? j > i : j < i) triangle[i * n + j] = T(0);
          }
        }
        kernels.triangular_solve(n, triangle.data(), {.lower = lower, .adjoint = true}, y.data(), columns, columns);
        this->ExpectNear(this->Product(this->Adjoint(triangle, n, n), y, n, n, columns), product, 10);
      }
    }
  });
}

TYPED_TEST(LinalgTest, Cholesky) {
  this->ForEachIsa([&](const LinalgKernels<TypeParam>& kernels) {
    for (const int64_t n : {1, 3, 50, 150}) {
      const auto a = this->Positive(n);
      auto lower = a;
      for (int64_t i = 0; i < n; ++i) std::fill(&lower[i * n] + i + 1, &lower[i * n] + n, TypeParam(99));  // not read
      EXPECT_TRUE(kernels.cholesky(n, lower.data()));
      this->ExpectNear(this->Product(lower, this->Adjoint(lower, n, n), n, n, n), a, static_cast<double>(n));
      lower = a;
      lower[n * n - 1] = TypeParam(-1);
      EXPECT_FALSE(kernels.cholesky(n, lower.data()));
    }
  });
}

TYPED_TEST(LinalgTest, Qr) {
  this->ForEachIsa([&](const LinalgKernels<TypeParam>& kernels) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {100, 60}, {60, 100}}) {
      for (const int64_t k : {m, std::min(m, n)}) {
        const auto a = this->Random(m * n);
        std::vector<TypeParam> q(static_cast<size_t>(m * k)), r(static_cast<size_t>(k * n));
        kernels.qr(m, n, k, a.data(), q.data(), r.data());
        this->ExpectOrthonormal(q, m, k);
        this->ExpectNear(this->Product(q, r, m, k, n), a, 10);
        for (int64_t i = 1; i < k; ++i) {
          for (int64_t j = 0; j < std::min(i, n); ++j) EXPECT_EQ(r[i * n + j], TypeParam(0));
        }
      }
    }
  });
}

TYPED_TEST(LinalgTest, HermitianEigen) {
  using Real = typename RealOf<TypeParam>::type;
  this->ForEachIsa([&](const LinalgKernels<TypeParam>& kernels) {
    for (const int64_t n : {1, 2, 6, 70}) {
      const auto a = this->Positive(n);
      std::vector<Real> values(static_cast<size_t>(n)), only(values);
      std::vector<TypeParam> v(a.size()), scaled;
      ASSERT_TRUE(kernels.hermitian_eigen(n, a.data(), values.data(), v.data()));
      ASSERT_TRUE(kernels.hermitian_eigen(n, a.data(), only.data(), nullptr));
      EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
      for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(values[i], only[i], this->kTolerance * static_cast<double>(5 * n));
      this->ExpectOrthonormal(v, n, n);
      scaled = v;
      for (int64_t i = 0; i < n * n; ++i) scaled[i] *= values[i % n];
      this->ExpectNear(this->Product(a, v, n, n, n), scaled, static_cast<double>(5 * n));
    }
  });
}

TYPED_TEST(LinalgTest, Svd) {
  using Real = typename RealOf<TypeParam>::type;
  this->ForEachIsa([&](const LinalgKernels<TypeParam>& kernels) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {80, 50}, {40, 90}}) {
      for (const bool full : {false, true}) {
        const int64_t k = std::min(m, n), p = full ? m : k, q = full ? n : k;
        auto a = this->Random(m * n);
        std::vector<Real> s(static_cast<size_t>(k)), only(s);
        std::vector<TypeParam> u(static_cast<size_t>(m * p)), v(static_cast<size_t>(n * q));
        ASSERT_TRUE(kernels.svd(m, n, a.data(), full, s.data(), u.data(), v.data()));
        ASSERT_TRUE(kernels.svd(m, n, a.data(), full, only.data(), nullptr, nullptr));
        EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
        for (int64_t i = 0; i < k; ++i) EXPECT_NEAR(s[i], only[i], this->kTolerance * 10);
        this->ExpectOrthonormal(u, m, p);
        this->ExpectOrthonormal(v, n, q);
        std::vector<TypeParam> middle(static_cast<size_t>(p * q));
        for (int64_t i = 0; i < k; ++i) middle[i * q + i] = s[i];
        this->ExpectNear(this->Product(this->Product(u, middle, m, p, q), this->Adjoint(v, n, q), m, q, n), a, 10);
        a[0] = std::numeric_limits<Real>::quiet_NaN();
        EXPECT_FALSE(kernels.svd(m, n, a.data(), full, s.data(), u.data(), v.data()));
      }
    }
  });
}

}  // namespace
}  // namespace millstream::math
