// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/memory_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace millstream::cuda {
namespace {

constexpr size_t kChunk = 1 << 20;

// Host memory in place of the device's; counts what is taken.
struct Source {
  size_t held = 0;
  std::map<void*, size_t> chunks;
  MemorySource Get() {
    return {[this](size_t bytes) {
              void* const chunk = std::aligned_alloc(MemoryPool::kAlignment, bytes);
              chunks[chunk] = bytes;
              held += bytes;
              return chunk;
            },
            [this](void* chunk) {
              held -= chunks[chunk];
              chunks.erase(chunk);
              std::free(chunk);
            }};
  }
};

TEST(MemoryPoolTest, BlocksAreAlignedApartAndUsedAgain) {
  Source source;
  {
    MemoryPool pool(source.Get(), 64 * kChunk, kChunk);
    std::mt19937 random(7);
    std::map<char*, size_t> blocks;
    for (int i = 0; i < 20000; ++i) {
      if (blocks.size() < 100 || random() % 2 == 0) {
        const size_t bytes = random() % 5000;
        auto* const block = static_cast<char*>(pool.Allocate(bytes, "test"));
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % MemoryPool::kAlignment, 0u);
        EXPECT_TRUE(pool.Holds(block));
        const auto next = blocks.lower_bound(block);
        if (next != blocks.end()) {
          ASSERT_LE(block + bytes, next->first);
        }
        if (next != blocks.begin()) {
          ASSERT_LE(std::prev(next)->first + std::prev(next)->second, block);
        }
        blocks[block] = bytes;
      } else {
        const auto victim = std::next(blocks.begin(), random() % blocks.size());
        pool.Deallocate(victim->first);
        blocks.erase(victim);
      }
    }
    for (const auto& [block, bytes] : blocks) pool.Deallocate(block);
    EXPECT_EQ(pool.bytes_in_use(), 0u);
    // All pieces were merged: a block as large as the first chunk fits without taking more.
    const size_t held = source.held;
    pool.Deallocate(pool.Allocate(kChunk, "test"));
    EXPECT_EQ(source.held, held);
  }
  EXPECT_EQ(source.held, 0u);
}

TEST(MemoryPoolTest, LimitHoldsAndUnusedChunksMakeRoom) {
  Source source;
  MemoryPool pool(source.Get(), 4 * kChunk, kChunk);
  EXPECT_EQ(pool.Allocate(5 * kChunk, "big"), nullptr);
  void* const first = pool.Allocate(kChunk, "first");
  pool.Deallocate(first);
  void* const all = pool.Allocate(4 * kChunk, "all");  // the first chunk has to go
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(pool.Allocate(1, "more"), nullptr);
  EXPECT_EQ(pool.Holders(3), "all 4.00 MiB in 1 blocks");
  pool.Deallocate(all);
  EXPECT_EQ(pool.Holders(3), "");
  EXPECT_EQ(pool.peak_bytes_in_use(), 4 * kChunk);
}

TEST(MemoryPoolTest, HoldersAreSortedBySize) {
  Source source;
  MemoryPool pool(source.Get(), 64 * kChunk, kChunk);
  void* const a = pool.Allocate(256, "a");
  void* const b = pool.Allocate(512, "b");
  void* const c = pool.Allocate(512, "b");
  EXPECT_EQ(pool.Holders(2), "b 1024 bytes in 2 blocks, a 256 bytes in 1 blocks");
  EXPECT_EQ(pool.Holders(1), "b 1024 bytes in 2 blocks");
  for (void* block : {a, b, c}) pool.Deallocate(block);
}

}  // namespace
}  // namespace millstream::cuda
