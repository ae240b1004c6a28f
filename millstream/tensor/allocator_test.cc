// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "millstream/base/memory_budget.h"
#include "millstream/tensor/shared_region.h"

namespace millstream {
namespace {

struct Block {
  void* data;
  size_t capacity;
};

Block Allocate(size_t bytes) {
  Block block{};
  block.data = HostAllocator()->Allocate(bytes, &block.capacity);
  return block;
}

void Deallocate(const Block& block) { HostAllocator()->Deallocate(block.data, block.capacity); }

TEST(AllocatorTest, BlocksAreAlignedAndLargeEnough) {
  for (size_t bytes = 1; bytes < (size_t{32} << 20); bytes = bytes * 3 / 2 + 1) {
    for (const size_t size : {bytes - 1, bytes, bytes + 1}) {
      const Block block = Allocate(size);
      ASSERT_NE(block.data, nullptr) << size;
      EXPECT_GE(block.capacity, size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 64, 0u) << size;
      std::memset(block.data, 1, size);
      Deallocate(block);
    }
  }
}

TEST(AllocatorTest, BlocksInUseDoNotOverlap) {
  for (const size_t size : {size_t{100}, size_t{5000}, size_t{100'000}}) {
    std::vector<Block> blocks;
    for (int i = 0; i < 200; ++i) {
      blocks.push_back(Allocate(size));
      std::memset(blocks.back().data, i, size);
    }
    for (int i = 0; i < 200; ++i) {
      const auto* bytes = static_cast<const unsigned char*>(blocks[i].data);
      EXPECT_EQ(bytes[0], static_cast<unsigned char>(i));
      EXPECT_EQ(bytes[size - 1], static_cast<unsigned char>(i));
      Deallocate(blocks[i]);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // every block comes from the system there
TEST(AllocatorTest, SteadyStateTakesNothingFromTheSystem) {
  const std::vector<size_t> sizes = {64, 1000, 30'000, 300'000, 5 << 20};
  for (const size_t size : sizes) Deallocate(Allocate(size));
  const int64_t before = HostAllocator()->stats().system_allocations;
  for (int round = 0; round < 100; ++round) {
    for (const size_t size : sizes) Deallocate(Allocate(size));
  }
  EXPECT_EQ(HostAllocator()->stats().system_allocations, before);
}

TEST(AllocatorTest, CountsLargeBlocksInUse) {
  const int64_t before = HostAllocator()->stats().bytes_in_use;
  const Block block = Allocate(10 << 20);
  const AllocatorStats during = HostAllocator()->stats();
  EXPECT_EQ(during.bytes_in_use - before, static_cast<int64_t>(block.capacity));
  EXPECT_GE(during.peak_bytes_in_use, during.bytes_in_use);
  EXPECT_GE(during.bytes_from_system, static_cast<int64_t>(block.capacity));
  Deallocate(block);
  EXPECT_EQ(HostAllocator()->stats().bytes_in_use, before);
}

TEST(AllocatorTest, BlocksOfAThreadThatEndedAreUsedAgain) {
  constexpr size_t kSize = 7777;
  std::set<void*> freed;
  std::thread([&] {
    std::vector<Block> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(Allocate(kSize));
    for (const Block& block : blocks) {
      freed.insert(block.data);
      Deallocate(block);
    }
  }).join();
  std::thread([&] {  // has no blocks of its own yet
    const Block block = Allocate(kSize);
    EXPECT_TRUE(freed.count(block.data) > 0);
    Deallocate(block);
  })
      .join();
}
#endif

TEST(AllocatorTest, RefusesWhatCannotBeHad) {
  EXPECT_EQ(Allocate(std::numeric_limits<size_t>::max()).data, nullptr);
  EXPECT_EQ(Allocate(size_t{1} << 62).data, nullptr);
}

TEST(AllocatorTest, LimitIsKept) {
  ReleaseMemory();  // what earlier tests left in caches would be given back for this one
  // The larger of what tensors have and of what the process has counts.
  SetHostMemoryLimit(std::max(MeasureMemory(), HostAllocator()->stats().bytes_from_system) + (32 << 20));
  EXPECT_EQ(Allocate(size_t{64} << 20).data, nullptr);
  const Block small = Allocate(size_t{1} << 20);
  EXPECT_NE(small.data, nullptr);
  Deallocate(small);
  SetHostMemoryLimit(std::numeric_limits<int64_t>::max());
  const Block block = Allocate(size_t{64} << 20);
  EXPECT_NE(block.data, nullptr);
  Deallocate(block);
}

#if !defined(__SANITIZE_ADDRESS__)
// Blocks of one size that nobody uses any more must not stand in the way of another size for ever. Attempts to release
// them may be some time apart.
TEST(AllocatorTest, CachedBlocksAreGivenBackAtTheLimit) {
  for (const size_t size : {size_t{1000}, size_t{50'000}, size_t{100} << 20}) {
    std::vector<Block> blocks;
    for (size_t bytes = 0; bytes < (size_t{100} << 20); bytes += size) {
      blocks.push_back(Allocate(size));
      std::memset(blocks.back().data, 1, size);
    }
    for (const Block& block : blocks) Deallocate(block);  // now they are cached
    SetHostMemoryLimit(std::max(MeasureMemory(), HostAllocator()->stats().bytes_from_system) + (20 << 20));
    Block other = Allocate(size_t{60} << 20);
    for (int i = 0; i < 1000 && other.data == nullptr; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      other = Allocate(size_t{60} << 20);
    }
    EXPECT_NE(other.data, nullptr) << size;
    SetHostMemoryLimit(std::numeric_limits<int64_t>::max());
    if (other.data != nullptr) Deallocate(other);
  }
}

// A chunk goes back as a whole or not at all.
TEST(AllocatorTest, BlocksInUseSurviveARelease) {
  std::vector<Block> kept, others;
  for (int i = 0; i < 10'000; ++i) {
    (i % 7 == 0 ? kept : others).push_back(Allocate(700));
    if (i % 7 == 0) std::memset(kept.back().data, i % 251, 700);
  }
  for (const Block& block : others) Deallocate(block);
  ReleaseMemory();
  others.clear();
  for (int i = 0; i < 10'000; ++i) {
    others.push_back(Allocate(700));
    std::memset(others.back().data, 255, 700);
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    for (int k = 0; k < 700; ++k) ASSERT_EQ(static_cast<unsigned char*>(kept[i].data)[k], i * 7 % 251) << i;
    Deallocate(kept[i]);
  }
  for (const Block& block : others) Deallocate(block);
}
#endif

// Zeros of that size rely on private memory, and rows of tables are found faster in huge pages.
TEST(AllocatorTest, BlocksOfAGigabyteAreNotInTheSharedRegion) {
  const SharedRegion* const region = SharedRegion::Enable();
  if (region == nullptr) GTEST_SKIP() << "no shared region here";
  for (const auto& [bytes, shared] : {std::pair{size_t{8} << 20, true}, std::pair{kPrivateBlockBytes, false}}) {
    size_t capacity = 0;
    void* const block = HostAllocator()->Allocate(bytes, &capacity);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(region->Contains(block), shared) << bytes;
    HostAllocator()->Deallocate(block, capacity);
  }
}

TEST(AllocatorTest, ManyThreadsMayExchangeBlocks) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      std::vector<Block> held;
      for (int i = 0; i < 2000; ++i) {
        held.push_back(Allocate(static_cast<size_t>(100 + 37 * (i % 500))));
        std::memset(held.back().data, i, 100);
        if (held.size() > 40) {
          Deallocate(held[static_cast<size_t>(i) % held.size()]);
          std::swap(held[static_cast<size_t>(i) % held.size()], held.back());
          held.pop_back();
        }
      }
      for (const Block& block : held) Deallocate(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millstream
