// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/chunked_sum.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/io/crc32c.h"

namespace millstream {
namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr double kChunkNanos = 80'000;  // about what it takes to copy and sum up a chunk

}  // namespace

StatusOr<uint32_t> MoveAndSum(const char* data, size_t bytes, ThreadPool* pool,
                              absl::FunctionRef<Status(size_t at, size_t n)> move) {
  const size_t count = (bytes + kChunkBytes - 1) / kChunkBytes;
  std::vector<uint32_t> sums(count);
  std::atomic<bool> failed{false};
  Mutex mu;
  Status error;
  const auto run = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end) && !failed.load(); ++i) {
      const size_t at = i * kChunkBytes, n = std::min(kChunkBytes, bytes - at);
      const Status status = move(at, n);
      if (!status.ok()) {
        MutexLock lock(mu);
        if (!failed.exchange(true)) error = status;
        return;
      }
      sums[i] = ExtendCrc32c(0, data + at, n);
    }
  };
  if (pool != nullptr) {
    pool->ParallelFor(static_cast<int64_t>(count), kChunkNanos, run);
  } else {
    run(0, static_cast<int64_t>(count));
  }
  RETURN_IF_ERROR(error);
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum = JoinCrc32c(sum, sums[i], std::min(kChunkBytes, bytes - i * kChunkBytes));
  return sum;
}

}  // namespace millstream
