// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_MEMORY_POOL_H_
#define MILLSTREAM_DEVICES_CUDA_MEMORY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millstream/base/mutex.h"

namespace millstream::cuda {

// Where a pool takes its memory from. Of the device: cudaMalloc; of a recording: a larger pool; in tests: anything.
struct MemorySource {
  std::function<void*(size_t bytes)> take;  // null if there is none
  std::function<void(void* block)> give_back;
};

// Blocks of device memory, cut from few large chunks and merged again with their neighbours when they come back. Best
// fit. The pool only hands out addresses: a block that is given back may serve the next caller at once, since work on
// the device is issued in the same order. Thread-safe.
class MemoryPool {
 public:
  static constexpr size_t kAlignment = 256;

  // Holds at most `limit` bytes.
  MemoryPool(MemorySource source, size_t limit, size_t smallest_chunk);
  ~MemoryPool();  // gives all chunks back. REQUIRES: no block is in use
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Null if the memory cannot be had. `holder` (an op, a purpose; a string that is never freed) is named by Holders().
  void* Allocate(size_t bytes, const char* holder);
  void Deallocate(void* block);

  // Whether the address is in one of its chunks.
  bool Holds(const void* address) const;

  size_t limit() const { return limit_; }
  size_t bytes_in_use() const;
  size_t peak_bytes_in_use() const;
  size_t bytes_held() const;  // chunks, in use or not
  // Who holds most of the memory: "ApplyAdam 1.2 GiB in 12 blocks, Conv2D ...", at most `count` of them.
  std::string Holders(size_t count) const;

 private:
  struct Block {
    size_t bytes;
    const char* holder;  // null: free
    bool first;          // of its chunk: never merged with what lies in front
  };
  using Blocks = std::map<char*, Block>;

  Blocks::iterator TakeFree(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Grow(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReleaseUnusedChunks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddFree(Blocks::iterator block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const MemorySource source_;
  const size_t limit_;
  const size_t smallest_chunk_;
  mutable Mutex mu_;
  Blocks blocks_ ABSL_GUARDED_BY(mu_);                            // by address; neighbours in a chunk touch
  std::set<std::pair<size_t, char*>> free_ ABSL_GUARDED_BY(mu_);  // by size
  std::map<char*, size_t> chunks_ ABSL_GUARDED_BY(mu_);
  size_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
  size_t peak_ ABSL_GUARDED_BY(mu_) = 0;
  size_t held_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_MEMORY_POOL_H_
