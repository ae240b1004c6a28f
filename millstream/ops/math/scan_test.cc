// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>

#include "millstream/framework/run_kernel.h"
#include "millstream/math/simd.h"
#include "millstream/ops/elements/testing/threaded_device.h"

namespace millstream {
namespace {

struct Scan {
  const char* op;
  int32_t axis;
  bool exclusive, reverse;
};

StatusOr<Tensor> Run(const Scan& scan, const Tensor& x, Device* device) {
  AttrMap attrs;
  attrs.Set("T", x.dtype());
  attrs.Set("Tidx", DType::kInt32);
  attrs.Set("exclusive", scan.exclusive);
  attrs.Set("reverse", scan.reverse);
  const OpEntry& op = *OpRegistry::Global().Find(scan.op);
  ASSIGN_OR_RETURN(std::vector<Tensor> out, RunKernel(op, attrs, {x, Tensor::Scalar(scan.axis)}, device));
  return out[0];
}

template <typename T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

// By the definition, line by line.
template <typename T>
Tensor Expected(const Scan& scan, const Tensor& x) {
  Tensor y(x.dtype(), x.shape());
  const int64_t n = x.dim(scan.axis), inner = x.shape().Product(scan.axis + 1, x.rank());
  const bool product = std::strcmp(scan.op, "Cumprod") == 0;
  for (int64_t line = 0; line < x.num_elements() / n; ++line) {
    const int64_t start = line / inner * n * inner + line % inner;
    T total = product ? T(1) : T(0);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = start + (scan.reverse ? n - 1 - i : i) * inner;
      const T before = total, value = x.data<T>()[at];
      total = product ? Product(total, value) : static_cast<T>(total + value);
      y.data<T>()[at] = scan.exclusive ? before : total;
    }
  }
  return y;
}

template <typename T>
class ScanTest : public ::testing::Test {};
using ScannedTypes =
    ::testing::Types<float, double, int8_t, uint16_t, int32_t, int64_t, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ScanTest, ScannedTypes);

// Running totals are added in the order of the elements by every path, so results are the same to the last bit.
TYPED_TEST(ScanTest, EveryShapeDirectionThreadCountAndInstructionSet) {
  std::mt19937 random(5);
  const ThreadedDevice one(1), two(2), five(5);
  for (const Shape& shape : {Shape({1, 40000}), Shape({7, 3001}), Shape({300, 129}), Shape({41, 33, 5}),
                             Shape({9, 200, 70}), Shape({1000, 3}), Shape({17, 1})}) {
    Tensor x(kDTypeOf<TypeParam>, shape);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.data<TypeParam>()[i] =
          static_cast<TypeParam>(static_cast<int>(random() % 3) - (std::is_unsigned_v<TypeParam> ? 0 : 1));
    }
    for (int32_t axis = 0; axis < shape.rank(); ++axis) {
      for (int trial = 0; trial < 8; ++trial) {
        const Scan scan{trial % 2 == 0 ? "Cumsum" : "Cumprod", axis, (trial & 2) != 0, (trial & 4) != 0};
        const Tensor want = Expected<TypeParam>(scan, x);
        for (Device* device : {one.get(), two.get(), five.get()}) {
          for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
            const simd::ScopedIsa scoped(isa);
            const StatusOr<Tensor> got = Run(scan, x, device);
            ASSERT_TRUE(got.ok()) << got.status();
            for (int64_t i = 0; i < x.num_elements(); ++i) {
              ASSERT_EQ(got->data<TypeParam>()[i], want.data<TypeParam>()[i])
                  << scan.op << " of " << shape.ToString() << " by axis " << axis << ", element " << i;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace millstream
