// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_GRPC_MEMORY_QUOTA_H_
#define MILLSTREAM_DISTRIBUTED_GRPC_MEMORY_QUOTA_H_

#include <atomic>
#include <cstdint>

namespace millstream {

// Bytes that the messages of all connections may take together. Thread-safe.
class MemoryQuota {
 public:
  explicit MemoryQuota(uint64_t limit) : limit_(limit) {}

  bool Take(uint64_t bytes) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    Give(bytes);
    return false;
  }
  void Give(uint64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_{0};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_GRPC_MEMORY_QUOTA_H_
