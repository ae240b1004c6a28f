// SPDX-License-Identifier: Apache-2.0
#include "millstream/tensor/shared_region.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdio>

#include "millstream/base/memory_budget.h"
#include "millstream/tensor/allocator.h"

namespace millstream {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t RoundUp(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Twice the machine's memory: addresses that were given back serve blocks of the same size only.
size_t RegionBytes() {
  struct sysinfo info {};
  const uint64_t memory = sysinfo(&info) == 0 ? uint64_t{info.totalram} * info.mem_unit : uint64_t{1} << 34;
  return std::bit_ceil(2 * memory);
}

constinit std::atomic<SharedRegion*> region{nullptr};

// In a child, which goes on without the region and what lies in it.
void LeaveToParent() {
  const SharedRegion* const parents = region.exchange(nullptr);
  if (parents == nullptr) return;
  CountSharedMemory(-parents->bytes_in_blocks());
  ForgetLargeCachedBlocks();
}

}  // namespace

SharedRegion* SharedRegion::Get() { return region.load(std::memory_order_acquire); }

SharedRegion* SharedRegion::Enable() {
  static auto* const mu = new Mutex;
  MutexLock lock(*mu);
  if (Get() == nullptr) region.store(Create(), std::memory_order_release);
  return Get();
}

SharedRegion* SharedRegion::Create() {
#if defined(__SANITIZE_ADDRESS__)
  return nullptr;
#else
  const size_t size = RegionBytes();
  const int file = memfd_create("millstream_tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return nullptr;
  // Nobody can shrink it under the feet of those who read.
  void* begin = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(size)) == 0 &&
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  // A child that wrote there would change this process's tensors; core files of it would have its size.
  if (begin != MAP_FAILED && (madvise(begin, size, MADV_DONTFORK) != 0 || madvise(begin, size, MADV_DONTDUMP) != 0)) {
    munmap(begin, size);
    begin = MAP_FAILED;
  }
  if (begin == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  [[maybe_unused]] static const int once = pthread_atfork(nullptr, nullptr, LeaveToParent);
  return new SharedRegion(file, static_cast<char*>(begin), size);
#endif
}

void* SharedRegion::Take(size_t bytes) {
  bytes = RoundUp(bytes);
  MutexLock lock(mu_);
  char* block = nullptr;
  if (const auto it = free_.find(bytes); it != free_.end() && !it->second.empty()) {
    block = it->second.back();
    it->second.pop_back();
  } else if (bytes <= size_ - used_) {
    block = begin_ + used_;
    used_ += bytes;
  }
  if (block == nullptr) return nullptr;
  Count(static_cast<int64_t>(bytes));
  return block;
}

void SharedRegion::Discard(void* block, size_t bytes) {
  bytes = RoundUp(bytes);
  madvise(block, bytes, MADV_REMOVE);  // where that fails, pages stay and are used again
  MutexLock lock(mu_);
  free_[bytes].push_back(static_cast<char*>(block));
  Count(-static_cast<int64_t>(bytes));
}

void SharedRegion::Count(int64_t bytes) {
  in_blocks_.fetch_add(bytes, std::memory_order_relaxed);
  CountSharedMemory(bytes);
}

int SharedRegion::OpenForReading() const {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file_);
  return open(path, O_RDONLY | O_CLOEXEC);
}

}  // namespace millstream
