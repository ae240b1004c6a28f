// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

template <typename T>
std::vector<T> Values(int64_t n, int kinds) {
  std::mt19937_64 random(static_cast<uint64_t>(n));
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<int64_t>(random() % static_cast<uint64_t>(kinds)) - kinds / 2;
    values.push_back(std::is_floating_point_v<T> ? static_cast<T>(v) / 7 : static_cast<T>(v));
  }
  if constexpr (std::is_floating_point_v<T>) {
    const T special[] = {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity(), T(-0.0), T(0),
                         std::numeric_limits<T>::infinity(),  -std::numeric_limits<T>::quiet_NaN()};
    for (int64_t i = 0; i < std::min<int64_t>(n / 2, 6); ++i) values[i * 2] = special[i];
  }
  return values;
}

// Larger ones first, NaN last, equal ones in the order of their places.
template <typename T>
std::vector<int32_t> ExpectedPlaces(const T* row, int64_t n) {
  std::vector<int32_t> places(static_cast<size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [row](int32_t a, int32_t b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(row[a]) || std::isnan(row[b])) return !std::isnan(row[a]) && std::isnan(row[b]);
    }
    return row[a] > row[b];
  });
  return places;
}

template <typename T>
void Check(int64_t n, int64_t k, int kinds) {
  SCOPED_TRACE(testing::Message() << k << " of " << n << " elements of " << kinds << " kinds");
  const std::vector<T> values = Values<T>(2 * n, kinds);
  AttrMap attrs;
  attrs.Set("T", kDTypeOf<T>);
  attrs.Set("sorted", true);
  const auto out = RunKernel(*OpRegistry::Global().Find("TopKV2"), attrs,
                             {Tensor::Vector(values).Reshaped(Shape({2, n})), Tensor::Scalar(static_cast<int32_t>(k))},
                             CpuDevice::SingleThreaded());
  ASSERT_TRUE(out.ok()) << out.status();
  for (int64_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> places = ExpectedPlaces(&values[row * n], n);
    for (int64_t i = 0; i < k; ++i) {
      ASSERT_EQ((*out)[1].template data<int32_t>()[row * k + i], places[i]) << row << " " << i;
      const T got = (*out)[0].template data<T>()[row * k + i], want = values[row * n + places[i]];
      ASSERT_TRUE(got == want || (got != got && want != want));
    }
  }
}

template <typename T>
void CheckSizes() {
  for (const int64_t n : {1, 2, 13, 255, 257, 3000}) {
    for (const int64_t k : {int64_t{1}, n / 10, n / 2, n}) {
      for (const int kinds : {2, 100, 1'000'000}) {
        if (k > 0) Check<T>(n, k, kinds);
      }
    }
  }
}

TEST(TopKTest, EverySizeAndType) {
  CheckSizes<float>();
  CheckSizes<double>();
  CheckSizes<int8_t>();
  CheckSizes<uint8_t>();
  CheckSizes<int16_t>();
  CheckSizes<uint16_t>();
  CheckSizes<int32_t>();
  CheckSizes<int64_t>();
}

}  // namespace
}  // namespace millstream
