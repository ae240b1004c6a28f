// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstring>

namespace millstream {
namespace {

// Sizes around those at which more threads take part, also ones that are no whole number of pages.
TEST(TensorTest, ClonesOfAnySizeAreEqual) {
  constexpr int64_t kMega = 1 << 20;
  for (const int64_t size : {int64_t{0}, int64_t{1}, 5 * kMega, 32 * kMega - 1, 32 * kMega, 32 * kMega + 5001,
                             48 * kMega + 1, 70 * kMega - 4095}) {
    Tensor tensor(DType::kUint8, Shape({size}));
    uint8_t* bytes = tensor.data<uint8_t>();
    for (int64_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + (i >> 12));
    const StatusOr<Tensor> clone = tensor.Clone();
    ASSERT_TRUE(clone.ok()) << clone.status();
    EXPECT_EQ(clone->shape(), tensor.shape());
    EXPECT_TRUE(size == 0 || clone->raw() != tensor.raw());
    EXPECT_TRUE(size == 0 || std::memcmp(clone->raw(), tensor.raw(), static_cast<size_t>(size)) == 0) << size;
  }
}

}  // namespace
}  // namespace millstream
