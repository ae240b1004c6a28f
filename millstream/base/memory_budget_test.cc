// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/memory_budget.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "millstream/base/thread_pool.h"

namespace millstream {
namespace {

class MemoryBudgetTest : public ::testing::Test {
 protected:
  void SetUp() override { SetMemoryLimit(MeasureMemory() + (64 << 20)); }
  void TearDown() override { SetMemoryLimit(before_); }
  const int64_t before_ = MemoryLimit();
};

TEST_F(MemoryBudgetTest, DefaultIsBelowWhatTheMachineHas) {
  EXPECT_GT(before_, int64_t{64} << 20);
  EXPECT_LT(before_, int64_t{1} << 50);
}

TEST_F(MemoryBudgetTest, MeasuresWhatIsTouched) {
  const int64_t before = MeasureMemory();
  const std::string text(32 << 20, 'a');
  EXPECT_GE(MeasureMemory() - before, 30 << 20);
  EXPECT_EQ(text.back(), 'a');
}

TEST_F(MemoryBudgetTest, ChecksWhatIsAskedFor) {
  EXPECT_TRUE(CheckMemory().ok());
  EXPECT_TRUE(CheckMemory(1 << 20).ok());
  EXPECT_EQ(CheckMemory(int64_t{1} << 40).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(MemoryIsExhausted()) << "one request that is too large";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Sizes below and above the one that is measured by itself.
TEST_F(MemoryBudgetTest, AllocationsFailWhereTheyMay) {
  for (const size_t size : {size_t{40}, size_t{5000}, size_t{1} << 20, size_t{48} << 20}) {
    std::vector<std::string> held;
    held.reserve((size_t{256} << 20) / size);
    const Status status = CatchOutOfMemory([&] {
      const AllocationsMayFail may_fail;
      for (size_t bytes = 0; bytes < (size_t{256} << 20); bytes += size) held.emplace_back(size, 'a');
      return OkStatus();
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << size;
    EXPECT_LT(MeasureMemory(), MemoryLimit() + (8 << 20)) << size;
  }
}

TEST_F(MemoryBudgetTest, AllocationsOfOthersNeverFail) {
  const std::string more(128 << 20, 'a');
  EXPECT_EQ(CheckMemory().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(MemoryIsExhausted());
  const AllocationsMayFail may_fail;
  const AllocationsMayFail never(false);
  const std::string still_more(16 << 20, 'a');
  EXPECT_EQ(still_more.size(), size_t{16} << 20);
}

TEST_F(MemoryBudgetTest, IsOverWhenMemoryIsGivenBack) {
  {
    const std::string more(128 << 20, 'a');
    EXPECT_FALSE(CheckMemory().ok());
  }
  EXPECT_FALSE(MemoryIsExhausted());
  EXPECT_TRUE(CheckMemory().ok());
}

// The caller hears of it, whichever thread ran out of memory, and no thread uses the loop after that.
TEST_F(MemoryBudgetTest, LoopsOnSeveralThreadsFailAsOne) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<std::string> out(1 << 16);
    const Status status = CatchOutOfMemory([&] {
      const AllocationsMayFail may_fail;
      pool.ParallelFor(static_cast<int64_t>(out.size()), 1000, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[static_cast<size_t>(i)].assign(10'000, 'a');
      });
      return OkStatus();
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  }
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(1000, 1000, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum.load(), 1000);
}
#endif

TEST_F(MemoryBudgetTest, LengthErrorsAreCaughtToo) {
  const Status status = CatchOutOfMemory([] {
    std::string text;
    volatile size_t huge = std::string::npos;
    text.resize(huge);
    return OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace millstream
