// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <utility>
#include <vector>

#include "millstream/base/memory_budget.h"
#include "millstream/base/mutex.h"
#include "millstream/tensor/shared_region.h"

namespace millstream {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMinBlock = 128;
// Four classes per power of two: at most 25 % of a block is unused. The smallest ones go up in steps of the alignment,
// since blocks are carved one behind the other.
constexpr int kStepsPerDoubling = 4;
constexpr int kFirstQuarteredLog = 8;
constexpr int kNumAlignedClasses = 3;  // 128, 192 and 256 bytes
constexpr int kNumClasses = 160;
// Blocks up to this size go through the thread's cache.
constexpr size_t kMaxThreadCached = 64 << 10;
constexpr size_t kThreadCacheBytes = 1 << 20;
constexpr int kMaxPerThreadClass = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// Under AddressSanitizer every tensor is a block of its own, so that it sees overruns and uses after free.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kBypass = true;
#else
constexpr bool kBypass = false;
#endif

constexpr int ClassOf(size_t bytes) {
  if (bytes <= kMinBlock) return 0;
  if (bytes <= kMinBlock + 2 * kAlignment) return static_cast<int>((bytes - kMinBlock - 1) / kAlignment) + 1;
  const int log = std::bit_width(bytes - 1) - 1;  // bytes in (2^log, 2^(log+1)]
  const size_t quarter = size_t{1} << (log - 2);
  const auto step = static_cast<int>((bytes - 1 - (size_t{1} << log)) / quarter);
  return (log - kFirstQuarteredLog) * kStepsPerDoubling + step + kNumAlignedClasses;
}

constexpr size_t ClassBytes(int c) {
  if (c < kNumAlignedClasses) return kMinBlock + static_cast<size_t>(c) * kAlignment;
  const int log = kFirstQuarteredLog + (c - kNumAlignedClasses) / kStepsPerDoubling;
  const int step = (c - kNumAlignedClasses) % kStepsPerDoubling;
  return (size_t{1} << log) + (static_cast<size_t>(step) + 1) * (size_t{1} << (log - 2));
}

class CachingAllocator;
CachingAllocator& Instance();

// A free block stores the link to the next one in its own first bytes.
struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  int size = 0;
  void Push(void* p) {
    auto* block = static_cast<FreeBlock*>(p);
    block->next = head;
    head = block;
    ++size;
  }
  void* Pop() {
    FreeBlock* block = head;
    head = block->next;
    --size;
    return block;
  }
};

constexpr int kNumSmallClasses = ClassOf(kMaxThreadCached) + 1;

struct ThreadCache {
  std::array<FreeList, kNumSmallClasses> lists;
  size_t bytes = 0;
  ~ThreadCache();
};

// A plain pointer is reached in one instruction; a thread_local with a destructor goes through two calls.
__attribute__((tls_model("initial-exec"))) thread_local ThreadCache* current_cache = nullptr;

class CachingAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes, size_t* capacity) override {
    if (bytes > (size_t{1} << 46)) return nullptr;
    if constexpr (kBypass) {
      *capacity = bytes;
      return FromSystem(bytes);
    }
    const int c = ClassOf(bytes);
    *capacity = ClassBytes(c);
    if (c < kNumSmallClasses) {
      ThreadCache& cache = Cache();
      FreeList& list = cache.lists[c];
      if (list.head == nullptr && !Refill(c)) [[unlikely]]
        return nullptr;
      cache.bytes -= *capacity;
      return list.Pop();
    }
    {
      Central& central = central_[c];
      MutexLock lock(central.mu);
      if (central.list.head != nullptr) {
        Count(static_cast<int64_t>(*capacity));
        return central.list.Pop();
      }
    }
    void* block = FromSystem(*capacity);
    if (block != nullptr) Count(static_cast<int64_t>(*capacity));
    return block;
  }

  void Deallocate(void* block, size_t capacity) override {
    if constexpr (kBypass) {
      from_system_.fetch_sub(static_cast<int64_t>(capacity));
      return std::free(block);
    }
    const int c = ClassOf(capacity);
    if (c < kNumSmallClasses) {
      ThreadCache& cache = Cache();
      FreeList& list = cache.lists[c];
      list.Push(block);
      cache.bytes += capacity;
      if (list.size > kMaxPerThreadClass || cache.bytes > kThreadCacheBytes) Spill(c, list.size / 2 + 1);
      return;
    }
    Count(-static_cast<int64_t>(capacity));
    Central& central = central_[c];
    MutexLock lock(central.mu);
    central.list.Push(block);
  }

  AllocatorStats stats() const override {
    AllocatorStats s;
    s.bytes_in_use = in_use_.load(std::memory_order_relaxed);
    s.peak_bytes_in_use = peak_.load(std::memory_order_relaxed);
    s.bytes_from_system = from_system_.load(std::memory_order_relaxed);
    s.system_allocations = system_calls_.load(std::memory_order_relaxed);
    return s;
  }

  // Gives blocks that nobody uses back to the system: large ones, and small ones where all of a chunk are unused. What
  // other threads have in their caches stays.
  void ReleaseCached() {
    for (int c = 0; c < kNumClasses; ++c) {
      Central& central = central_[c];
      MutexLock lock(central.mu);
      if (c < kNumSmallClasses) {
        ReleaseChunks(c, &central);
        continue;
      }
      while (central.list.head != nullptr) ToSystem(central.list.Pop(), ClassBytes(c));
    }
  }

  // In a child of fork(): no other thread runs, and locks that others held stay locked.
  void ForgetLarge() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (int c = kNumSmallClasses; c < kNumClasses; ++c) central_[c].list = FreeList();
  }

  // Hands `count` blocks of the thread's list back to the shared one.
  void Spill(int c, int count) {
    ThreadCache& cache = Cache();
    FreeList& list = cache.lists[c];
    Central& central = central_[c];
    const size_t block_bytes = ClassBytes(c);
    MutexLock lock(central.mu);
    for (; count > 0 && list.head != nullptr; --count) {
      central.list.Push(list.Pop());
      cache.bytes -= block_bytes;
    }
  }

 private:
  // Where small blocks come from: one behind the other, NumInChunk() of them.
  struct Chunk {
    char* begin;
    Chunk* next;
  };

  struct Central {
    Mutex mu;
    FreeList list ABSL_GUARDED_BY(mu);
    Chunk* chunks ABSL_GUARDED_BY(mu) = nullptr;
  };

  static int NumInChunk(int c) { return static_cast<int>(std::clamp<size_t>(16384 / ClassBytes(c), 1, 16)); }

  void ToSystem(void* block, size_t bytes) {
    SharedRegion* const region = SharedRegion::Get();
    if (region != nullptr && region->Contains(block)) {
      region->Discard(block, bytes);
    } else {
      std::free(block);
    }
    from_system_.fetch_sub(static_cast<int64_t>(bytes));
  }

  // Every block of the list belongs to one chunk; in the order of addresses both are walked once.
  void ReleaseChunks(int c, Central* central) ABSL_EXCLUSIVE_LOCKS_REQUIRED(central->mu) {
    const auto in_chunk = static_cast<size_t>(NumInChunk(c));
    const size_t chunk_bytes = in_chunk * ClassBytes(c);
    std::vector<Chunk*> chunks;
    for (Chunk* chunk = std::exchange(central->chunks, nullptr); chunk != nullptr; chunk = chunk->next)
      chunks.push_back(chunk);
    std::sort(chunks.begin(), chunks.end(), [](const Chunk* a, const Chunk* b) { return a->begin < b->begin; });
    std::vector<char*> blocks(static_cast<size_t>(central->list.size));
    for (char*& block : blocks) block = static_cast<char*>(central->list.Pop());
    std::sort(blocks.begin(), blocks.end());
    auto block = blocks.begin();
    for (Chunk* chunk : chunks) {
      const auto first = std::lower_bound(block, blocks.end(), chunk->begin);
      const auto last = std::lower_bound(first, blocks.end(), chunk->begin + chunk_bytes);
      for (; block != first; ++block) central->list.Push(*block);  // of a chunk that nobody noted
      if (static_cast<size_t>(last - first) == in_chunk) {
        ToSystem(chunk->begin, chunk_bytes);
        std::free(chunk);
      } else {
        for (; block != last; ++block) central->list.Push(*block);
        chunk->next = std::exchange(central->chunks, chunk);
      }
      block = last;
    }
    for (; block != blocks.end(); ++block) central->list.Push(*block);
  }

  void NoteChunk(int c, char* begin) {
    auto* chunk = static_cast<Chunk*>(std::malloc(sizeof(Chunk)));  // operator new might want blocks released
    if (chunk == nullptr) return;
    chunk->begin = begin;
    Central& central = central_[c];
    MutexLock lock(central.mu);
    chunk->next = std::exchange(central.chunks, chunk);
  }

  static ThreadCache& Cache() {
    if (current_cache == nullptr) [[unlikely]]
      current_cache = NewCache();
    return *current_cache;
  }
  static ThreadCache* NewCache() {
    thread_local ThreadCache cache;  // its destructor hands the blocks on
    return &cache;
  }

  // Moves a batch from the shared list, or carves a fresh chunk.
  bool Refill(int c) {
    ThreadCache& cache = Cache();
    const size_t block_bytes = ClassBytes(c);
    const int batch = NumInChunk(c);
    {
      Central& central = central_[c];
      MutexLock lock(central.mu);
      for (int i = 0; i < batch && central.list.head != nullptr; ++i) {
        cache.lists[c].Push(central.list.Pop());
        cache.bytes += block_bytes;
      }
    }
    if (cache.lists[c].head != nullptr) return true;
    auto* chunk = static_cast<char*>(FromSystem(block_bytes * batch));
    if (chunk == nullptr) return false;
    NoteChunk(c, chunk);
    for (int i = batch - 1; i >= 0; --i) cache.lists[c].Push(chunk + i * block_bytes);
    cache.bytes += block_bytes * batch;
    return true;
  }

  // Counts `bytes` if the limit on all tensors and that on the whole process allow them.
  bool Reserve(int64_t bytes) {
    if ((from_system_.fetch_add(bytes) + bytes <= MemoryLimit() && MayTakeMemory(bytes)) || BeyondMemoryLimit::now())
      return true;
    from_system_.fetch_sub(bytes);
    return false;
  }

  static void* FreshBlock(size_t bytes) {
    const bool may_be_lent = bytes > kMaxThreadCached && bytes < kPrivateBlockBytes;
    if (SharedRegion* const region = SharedRegion::Get(); region != nullptr && may_be_lent) {
      if (void* const block = region->Take(bytes); block != nullptr) return block;
    }
    // Large blocks on huge-page borders: one fault instead of 512.
    const size_t alignment = bytes >= (4u << 20) ? kHugePage : kAlignment;
    void* block = nullptr;
    if (posix_memalign(&block, alignment, (bytes + alignment - 1) / alignment * alignment) != 0) return nullptr;
    if (bytes >= kPrivateBlockBytes) madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    return block;
  }

  void* FromSystem(size_t bytes) {
    const auto signed_bytes = static_cast<int64_t>(bytes);
    if (!Reserve(signed_bytes)) [[unlikely]] {
      if (signed_bytes > MemoryLimit()) return nullptr;
      ReleaseMemory();
      if (!Reserve(signed_bytes)) return nullptr;
    }
    void* block = FreshBlock(bytes);
    if (block == nullptr) {
      from_system_.fetch_sub(signed_bytes);
      return nullptr;
    }
    system_calls_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

  void Count(int64_t bytes) {
    const int64_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }

  std::array<Central, kNumClasses> central_;
  std::atomic<int64_t> in_use_{0};  // blocks above kMaxThreadCached only: small ones are not counted one by one
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> from_system_{0};
  std::atomic<int64_t> system_calls_{0};
};

CachingAllocator& Instance() {
  static auto* allocator = [] {
    auto* made = new CachingAllocator;
    SetMemoryReleaser([] { Instance().ReleaseCached(); });
    return made;
  }();
  return *allocator;
}

ThreadCache::~ThreadCache() {
  for (int c = 0; c < kNumSmallClasses; ++c) {
    if (lists[c].head != nullptr) Instance().Spill(c, lists[c].size);
  }
}

}  // namespace

Allocator* HostAllocator() { return &Instance(); }
void ForgetLargeCachedBlocks() { Instance().ForgetLarge(); }
void SetHostMemoryLimit(int64_t bytes) { SetMemoryLimit(bytes); }

}  // namespace millstream
