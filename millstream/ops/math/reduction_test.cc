// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/math/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/base/thread_pool.h"
#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"
#include "millstream/math/simd.h"

namespace millstream {
namespace {

StatusOr<Tensor> Reduce(const char* name, const Tensor& x, std::vector<int32_t> axes, bool keep_dims = false) {
  AttrMap attrs;
  if (x.dtype() != DType::kBool) attrs.Set("T", x.dtype());
  attrs.Set("keep_dims", keep_dims);
  const OpEntry& op = *OpRegistry::Global().Find(name);
  ASSIGN_OR_RETURN(std::vector<Tensor> out,
                   RunKernel(op, attrs, {x, Tensor::Vector(axes)}, CpuDevice::SingleThreaded()));
  return out[0];
}

// Sums by the definition, for every subset of the axes of a shape.
template <typename T>
void ExpectSums(const Shape& shape) {
  Tensor x(kDTypeOf<T>, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<T>()[i] = T(static_cast<float>(i % 5));
  for (int subset = 0; subset < (1 << shape.rank()); ++subset) {
    std::vector<int32_t> axes;
    std::vector<int64_t> kept;
    for (int i = 0; i < shape.rank(); ++i) {
      if ((subset >> i & 1) != 0) axes.push_back(i % 2 == 0 ? i : i - shape.rank());
      kept.push_back((subset >> i & 1) != 0 ? 1 : shape.dim(i));
    }
    const Shape out(kept);
    std::vector<double> want(out.num_elements(), 0);
    for (int64_t flat = 0; flat < x.num_elements(); ++flat) {
      int64_t rest = flat, at = 0, stride = 1;
      for (int i = shape.rank() - 1; i >= 0; --i) {
        if (kept[i] == shape.dim(i)) at += rest % shape.dim(i) * stride;
        stride *= kept[i];
        rest /= shape.dim(i);
      }
      want[at] += static_cast<double>(static_cast<float>(x.data<T>()[flat]));
    }
    StatusOr<Tensor> sum = Reduce("Sum", x, axes, true), mean = Reduce("Mean", x, axes);
    ASSERT_TRUE(sum.ok() && mean.ok()) << sum.status();
    ASSERT_EQ(sum->shape().ToString(), out.ToString());
    const double count = static_cast<double>(x.num_elements()) / static_cast<double>(out.num_elements());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(static_cast<double>(static_cast<float>(sum->data<T>()[i])), want[i]) << subset << " " << i;
      if (!std::is_integral_v<T>) {
        ASSERT_NEAR(static_cast<float>(mean->data<T>()[i]), want[i] / count, 2e-3 * (want[i] / count + 1));
      }
    }
  }
}

TEST(ReductionTest, AllSubsetsOfAxes) {
  ExpectSums<float>({3, 4, 2, 5});
  ExpectSums<double>({2, 1, 3, 2});
  ExpectSums<int32_t>({2, 3, 2, 2, 3});
  ExpectSums<Half>({3, 4, 5});
  ExpectSums<int16_t>({3, 1, 5});
}

TEST(ReductionTest, BadAxes) {
  const Tensor x = Tensor::Of<float>({1, 2}, {1, 2});
  EXPECT_EQ(Reduce("Sum", x, {0, -2}).status().message(),
            "Invalid reduction arguments: Axes contains duplicate dimension: 0");
  EXPECT_EQ(Reduce("Sum", x, {2}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ReductionTest, Empty) {
  const Tensor x(DType::kFloat, Shape({0, 3}));
  EXPECT_EQ(Reduce("Sum", x, {0})->data<float>()[2], 0.0f);
  EXPECT_EQ(Reduce("Max", x, {0})->data<float>()[2], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(Reduce("Mean", x, {0})->data<float>()[0]));
  EXPECT_EQ(Reduce("Sum", x, {1})->num_elements(), 0);
}

TEST(ReductionTest, NormAndLogic) {
  const Tensor x = Tensor::Of<float>({2, 2}, {3, 4, -6, 8});
  EXPECT_EQ(Reduce("EuclideanNorm", x, {1})->data<float>()[1], 10.0f);
  EXPECT_EQ(Reduce("EuclideanNorm", x, {})->data<float>()[2], 6.0f);
  const Tensor b = Tensor::Of<bool>({2, 2}, {true, false, true, true});
  EXPECT_FALSE(Reduce("All", b, {1})->data<bool>()[0]);
  EXPECT_TRUE(Reduce("All", b, {1})->data<bool>()[1]);
  EXPECT_TRUE(Reduce("Any", b, {0, 1})->scalar<bool>());
}

// Sums of small integers wrap as their type does; of nothing, the largest is the lowest number of the type.
TEST(ReductionTest, SmallIntegersKeepTheirType) {
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    Tensor bytes(DType::kUint8, Shape({3, 500})), signs(DType::kInt8, Shape({3, 500}));
    uint8_t sum = 0, largest = 0;
    for (int i = 0; i < 1500; ++i) {
      const auto x = static_cast<uint8_t>(i * 37 % 251);
      bytes.data<uint8_t>()[i] = x, signs.data<int8_t>()[i] = static_cast<int8_t>(x);
      if (i < 500) sum = static_cast<uint8_t>(sum + x), largest = std::max(largest, x);
    }
    EXPECT_EQ(Reduce("Sum", bytes, {1})->data<uint8_t>()[0], sum);
    EXPECT_EQ(Reduce("Sum", signs, {1})->data<int8_t>()[0], static_cast<int8_t>(sum));
    EXPECT_EQ(Reduce("Max", bytes, {1})->data<uint8_t>()[0], largest);
    EXPECT_EQ(Reduce("Min", signs, {1})->data<int8_t>()[0], -128);
    EXPECT_EQ(Reduce("Max", signs, {0, 1})->data<int8_t>()[0], 127);
  }
  EXPECT_EQ(Reduce("Max", Tensor(DType::kInt8, Shape({0})), {0})->data<int8_t>()[0], -128);
}

// Rows shorter and longer than what is compared at a time, with equal elements and NaN.
TEST(ReductionTest, ArgMaxFindsTheFirstOfAllLengths) {
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const int64_t n : {1, 2, 10, 63, 64, 65, 127, 300}) {
      constexpr int64_t kRows = 70;
      Tensor x(DType::kFloat, Shape({kRows, n}));
      for (int64_t i = 0; i < kRows * n; ++i) x.data<float>()[i] = static_cast<float>(i * 7919 % 101);
      x.data<float>()[0] = std::nanf("");
      AttrMap attrs;
      attrs.Set("T", DType::kFloat);
      auto out = RunKernel(*OpRegistry::Global().Find("ArgMax"), attrs, {x, Tensor::Scalar(int32_t{1})},
                           CpuDevice::SingleThreaded());
      ASSERT_TRUE(out.ok()) << out.status();
      for (int64_t r = 0; r < kRows; ++r) {
        const float* row = x.data<float>() + r * n;
        const float* first = r == 0 && n > 1 ? row + 1 : row;
        ASSERT_EQ((*out)[0].data<int64_t>()[r], std::max_element(first, row + n) - row) << n << " " << r;
      }
    }
  }
}

// So many rows that threads share them.
TEST(ReductionTest, ArgMaxOfManyRowsOnSeveralThreads) {
  ThreadPool pool(4);
  const auto devices = MakeCpuDevices("/job:localhost/replica:0/task:0", 1, 1, &pool);
  for (const int64_t n : {10, 100}) {
    constexpr int64_t kRows = 20000;
    Tensor x(DType::kFloat, Shape({kRows, n}));
    for (int64_t i = 0; i < kRows * n; ++i) x.data<float>()[i] = static_cast<float>(i * 7919 % 10007);
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    auto out =
        RunKernel(*OpRegistry::Global().Find("ArgMax"), attrs, {x, Tensor::Scalar(int32_t{1})}, devices[0].get());
    ASSERT_TRUE(out.ok()) << out.status();
    for (int64_t r = 0; r < kRows; ++r) {
      const float* row = x.data<float>() + r * n;
      ASSERT_EQ((*out)[0].data<int64_t>()[r], std::max_element(row, row + n) - row) << n << " " << r;
    }
  }
}

TEST(ReductionTest, ArgMax) {
  Tensor x(DType::kFloat, Shape({3, 200}));
  for (int i = 0; i < 600; ++i) x.data<float>()[i] = static_cast<float>((i * 37) % 200);
  x.data<float>()[200] = std::numeric_limits<float>::quiet_NaN();
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  auto out = RunKernel(*OpRegistry::Global().Find("ArgMax"), attrs, {x, Tensor::Scalar(int32_t{-1})},
                       CpuDevice::SingleThreaded());
  ASSERT_TRUE(out.ok()) << out.status();
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(x.data<float>()[r * 200 + (*out)[0].data<int64_t>()[r]], 199.0f) << r;
  }
}

}  // namespace
}  // namespace millstream
