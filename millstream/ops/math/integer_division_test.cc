// SPDX-License-Identifier: Apache-2.0
// Quotients and remainders of every integer type, against division of wider integers.
#include "millstream/ops/math/integer_division.h"

#include <gtest/gtest.h>

#include <random>

#include "millstream/framework/cpu_device.h"
#include "millstream/framework/run_kernel.h"

namespace millstream {
namespace {

using Wide = __int128;

Wide Floor(Wide x, Wide y) {
  const Wide q = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}
Wide Expected(const std::string& op, Wide x, Wide y) {
  if (op == "FloorDiv") return Floor(x, y);
  if (op == "FloorMod") return x - Floor(x, y) * y;
  if (op == "Mod" || op == "TruncateMod") return x % y;
  return x / y;
}

template <typename T>
std::vector<T> Interesting() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  if constexpr (sizeof(T) == 1) {
    for (int v = Limits::lowest(); v <= Limits::max(); ++v) values.push_back(static_cast<T>(v));
    return values;
  }
  for (int i = 0; i < 20; ++i) {
    values.push_back(static_cast<T>(Limits::lowest() + static_cast<T>(i)));
    values.push_back(static_cast<T>(Limits::max() - static_cast<T>(i)));
    values.push_back(static_cast<T>(i - (std::is_signed_v<T> ? 10 : 0)));
    values.push_back(static_cast<T>(Limits::max() / 2 + static_cast<T>(i)));
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
  return values;
}

template <typename T>
void CheckType(const std::string& op) {
  std::vector<T> x, y;
  for (const T a : Interesting<T>()) {
    for (const T b : Interesting<T>()) {
      if (b == 0) continue;
      x.push_back(a);
      y.push_back(b);
    }
  }
  AttrMap attrs;
  attrs.Set("T", kDTypeOf<T>);
  const auto out = RunKernel(*OpRegistry::Global().Find(op), attrs, {Tensor::Vector(x), Tensor::Vector(y)},
                             CpuDevice::SingleThreaded());
  ASSERT_TRUE(out.ok()) << out.status();
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ((*out)[0].template data<T>()[i], static_cast<T>(Expected(op, x[i], y[i])))
        << op << " of " << +x[i] << " and " << +y[i];
  }
  // Wherever it stands.
  for (const size_t place : {size_t{0}, x.size() / 2, x.size() - 1}) {
    std::vector<T> zero = y;
    zero[place] = 0;
    EXPECT_FALSE(RunKernel(*OpRegistry::Global().Find(op), attrs, {Tensor::Vector(x), Tensor::Vector(zero)},
                           CpuDevice::SingleThreaded())
                     .ok());
  }
}

TEST(IntegerDivisionTest, EveryTypeOpAndInstructionSet) {
  for (const simd::Isa isa : {simd::Isa::kSse2, simd::Isa::kAvx2, simd::Isa::kAvx512}) {
    const simd::ScopedIsa scoped(isa);
    for (const char* op : {"FloorDiv", "FloorMod", "TruncateDiv", "Div"}) {
      CheckType<int8_t>(op);
      CheckType<uint8_t>(op);
      CheckType<int16_t>(op);
      CheckType<uint16_t>(op);
      CheckType<int32_t>(op);
      CheckType<uint32_t>(op);
      CheckType<int64_t>(op);
      CheckType<uint64_t>(op);
    }
    for (const char* op : {"Mod", "TruncateMod"}) {
      CheckType<int32_t>(op);
      CheckType<int64_t>(op);
    }
  }
}

}  // namespace
}  // namespace millstream
