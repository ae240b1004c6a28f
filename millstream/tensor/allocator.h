// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_ALLOCATOR_H_
#define MILLSTREAM_TENSOR_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

namespace millstream {

struct AllocatorStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_from_system = 0;   // held, in use or cached
  int64_t system_allocations = 0;  // how often fresh memory was taken
};

// Memory for tensors. Thread-safe. Blocks are 64-byte aligned.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Null when `bytes` cannot be had. `*capacity` (>= bytes) is what Deallocate() must be told.
  virtual void* Allocate(size_t bytes, size_t* capacity) = 0;
  virtual void Deallocate(void* block, size_t capacity) = 0;
  virtual AllocatorStats stats() const = 0;
};

// Host memory, cached by size class so that a steady-state step takes nothing from the system: fresh pages cost about
// 2 us per 4 KB. Small blocks go through a cache of the calling thread, without a lock. Never destroyed.
Allocator* HostAllocator();

// For a child made by fork(), which does not have the shared region (shared_region.h): unused large blocks are not used
// any more.
void ForgetLargeCachedBlocks();

// Allocations above this many bytes fail (ResourceExhausted to the user). Default: no limit of ours.
void SetHostMemoryLimit(int64_t bytes);

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_ALLOCATOR_H_
