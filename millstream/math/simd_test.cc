// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/simd.h"

#include <gtest/gtest.h>

#include <complex>
#include <vector>

namespace millstream::simd {
namespace {

constexpr Isa kAllIsas[] = {Isa::kSse2, Isa::kAvx2, Isa::kAvx512};

TEST(SimdTest, ScopedIsaLowersAndRestores) {
  const Isa before = ActiveIsa();
  {
    ScopedIsa forced(Isa::kSse2);
    EXPECT_EQ(ActiveIsa(), Isa::kSse2);
  }
  EXPECT_EQ(ActiveIsa(), before);
  ScopedIsa highest(Isa::kAvx512);
  EXPECT_EQ(ActiveIsa(), BestIsa());
}

template <typename T>
void ExpectForCovers(int64_t begin, int64_t end) {
  std::vector<T> x(end + 3), y(end + 3, T(-1));
  for (size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<int>(i));
  const T* in = x.data();
  T* out = y.data();
  For<T>(begin, end, [=](int64_t i) { out[i] = in[i] * in[i] + T(1); });
  for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i) {
    const bool inside = i >= begin && i < end;
    EXPECT_EQ(y[i], inside ? T(static_cast<int>(i * i + 1)) : T(-1)) << i << " of " << begin << ".." << end;
  }
}

TEST(SimdTest, ForCoversExactlyTheRange) {
  for (Isa isa : kAllIsas) {
    ScopedIsa forced(isa);
    for (int64_t n : {0, 1, 3, 7, 15, 16, 17, 31, 33, 64, 67, 129}) {
      for (int64_t begin : {int64_t{0}, n / 3, n}) {
        ExpectForCovers<float>(begin, n);
        ExpectForCovers<double>(begin, n);
        ExpectForCovers<int32_t>(begin, n);
        ExpectForCovers<std::complex<float>>(begin, n);
      }
    }
  }
}

TEST(SimdTest, OutputMayBeInput) {
  for (Isa isa : kAllIsas) {
    ScopedIsa forced(isa);
    std::vector<float> v(101, 3.0f);
    float* p = v.data();
    For<float>(0, 101, [=](int64_t i) { p[i] = p[i] * 2.0f + 1.0f; });
    for (float value : v) EXPECT_EQ(value, 7.0f);
  }
}

TEST(SimdTest, RunReturnsTheResultOfTheBody) {
  for (Isa isa : kAllIsas) {
    ScopedIsa forced(isa);
    EXPECT_EQ(simd::Run<float>([] { return 7; }), 7);
    EXPECT_EQ(simd::Run<int>([] { return 8; }), 8);
  }
}

}  // namespace
}  // namespace millstream::simd
