// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TENSOR_SHARED_REGION_H_
#define MILLSTREAM_TENSOR_SHARED_REGION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "millstream/base/mutex.h"

namespace millstream {

// Blocks of the host allocator from this size on are private memory in huge pages, where the system has them: tables of
// embeddings, whose rows are read here and there, and whose whole nobody sends.
inline constexpr size_t kPrivateBlockBytes = size_t{1} << 30;

// A range of addresses of this process that other processes of the same user can map to read. Large blocks of the host
// allocator, of less than kPrivateBlockBytes, lie in it from Enable() on, so that links within a host can lend a tensor
// instead of copying it. The range is much larger than memory; pages are taken when they are first written. A child
// made by fork() does not have it. Thread-safe. Never destroyed.
class SharedRegion {
 public:
  // From now on large blocks are taken from the region. Null where the system offers no such memory, or under a
  // sanitizer that wants blocks of its own.
  static SharedRegion* Enable();
  // Null before Enable(). One load.
  static SharedRegion* Get();

  // For the allocator: memory of whole pages, or null when the range is used up; and back again.
  void* Take(size_t bytes);
  void Discard(void* block, size_t bytes);

  bool Contains(const void* p) const { return OffsetOf(p) < size_; }
  // REQUIRES for a meaningful answer: Contains(p).
  uint64_t OffsetOf(const void* p) const { return static_cast<uint64_t>(static_cast<const char*>(p) - begin_); }
  // A new descriptor of the memory file, read-only, for another process; -1 if there are no more. The caller closes it.
  int OpenForReading() const;
  // Bytes in blocks now; the system counts them as shared.
  int64_t bytes_in_blocks() const { return in_blocks_.load(std::memory_order_relaxed); }

 private:
  SharedRegion(int file, char* begin, size_t size) : file_(file), begin_(begin), size_(size) {}
  static SharedRegion* Create();
  void Count(int64_t bytes);

  const int file_;
  char* const begin_;
  const size_t size_;
  std::atomic<int64_t> in_blocks_{0};
  Mutex mu_;
  size_t used_ ABSL_GUARDED_BY(mu_) = 0;                            // addresses behind this were never taken
  std::map<size_t, std::vector<char*>> free_ ABSL_GUARDED_BY(mu_);  // addresses without pages, by size
};

}  // namespace millstream

#endif  // MILLSTREAM_TENSOR_SHARED_REGION_H_
