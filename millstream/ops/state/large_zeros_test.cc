// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/base/memory_budget.h"
#include "millstream/ops/state/testing/op_runner.h"

namespace millstream {
namespace {

TEST(LargeZerosTest, TakeNoMemoryUntilTheyAreTouched) {
  constexpr int64_t kElements = (int64_t{1} << 28) + 5;  // of four bytes: 1 GiB and a bit
  OpRunner::Env env;
  OpRunner fill(env, "Fill", {{"T", DType::kFloat}, {"index_type", DType::kInt64}});
  const int64_t before = MeasureMemory();
  auto zeros = fill.Value({Tensor::Vector<int64_t>({kElements}), Tensor::Scalar<float>(0)});
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_LT(MeasureMemory() - before, int64_t{64} << 20);
  for (const int64_t at : {int64_t{0}, int64_t{1}, int64_t{4097}, kElements / 2, kElements - 1}) {
    EXPECT_EQ(zeros->data<float>()[at], 0) << at;
  }
}

// A block that was used before comes from the allocator's cache with what was written there.
TEST(LargeZerosTest, InMemoryThatWasUsedBefore) {
  constexpr int64_t kBytes = (int64_t{1} << 30) + 3;
  OpRunner::Env env;
  OpRunner fill(env, "Fill", {{"T", DType::kUint8}, {"index_type", DType::kInt64}});
  for (const int value : {7, 0}) {
    auto filled = fill.Value({Tensor::Vector<int64_t>({kBytes}), Tensor::Scalar<uint8_t>(static_cast<uint8_t>(value))});
    ASSERT_TRUE(filled.ok()) << filled.status();
    for (int64_t at = 0; at < kBytes; at += 4093) ASSERT_EQ(filled->data<uint8_t>()[at], value) << at;
    EXPECT_EQ(filled->data<uint8_t>()[kBytes - 1], value);
  }
}

}  // namespace
}  // namespace millstream
