// SPDX-License-Identifier: Apache-2.0
#include "millstream/base/memory_budget.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#if defined(__SANITIZE_ADDRESS__)
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace millstream {

thread_local constinit bool AllocationsMayFail::may_fail_ = false;
thread_local constinit bool BeyondMemoryLimit::now_ = false;

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
// What a thread takes between two measurements.
constexpr int64_t kQuantum = 1 << 20;

constinit std::atomic<int64_t> limit{0};  // 0: not known yet
constinit std::atomic<bool> exhausted{false};
constinit std::atomic<int64_t> shared_memory{0};
constinit std::atomic<void (*)()> releaser{nullptr};

// What this thread may take before the next measurement.
__attribute__((tls_model("initial-exec"))) thread_local constinit int64_t left = kQuantum;

// Reads a small file without allocating. False if there is none.
bool ReadSmallFile(const char* path, char* buffer, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, buffer, size - 1);
  close(fd);
  buffer[std::max<ssize_t>(n, 0)] = '\0';
  return n > 0;
}

// The number in a file of a cgroup; unlimited if it says "max", or is not there.
int64_t CgroupLimit(const char* path) {
  char text[64];
  if (!ReadSmallFile(path, text, sizeof(text))) return kUnlimited;
  const long long value = std::strtoll(text, nullptr, 10);
  return value > 0 ? value : kUnlimited;
}

// Of the cgroup (version 2) that this process is in, where that is not the root of what it sees.
int64_t OwnCgroupLimit() {
  char text[512], path[640];
  if (!ReadSmallFile("/proc/self/cgroup", text, sizeof(text)) || std::strncmp(text, "0::/", 4) != 0) return kUnlimited;
  text[std::strcspn(text, "\n")] = '\0';
  std::snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", text + 3);
  return CgroupLimit(path);
}

int64_t ResourceLimit(int resource) {
  rlimit value{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &value) != 0 || value.rlim_cur == RLIM_INFINITY)
    return kUnlimited;
  return static_cast<int64_t>(std::min<rlim_t>(value.rlim_cur, kUnlimited));
}

// MILLSTREAM_MAX_MEMORY_BYTES: a number, or one with K, M, G or T behind it, as flags have it. 0 if there is none.
int64_t LimitFromEnvironment() {
  const char* const text = std::getenv("MILLSTREAM_MAX_MEMORY_BYTES");
  if (text == nullptr) return 0;
  char* end = nullptr;
  double value = std::strtod(text, &end);
  constexpr char kUnits[] = "KMGT";
  if (const char* unit = *end == '\0' ? nullptr : std::strchr(kUnits, *end & ~0x20); unit != nullptr) {
    for (; unit >= kUnits; --unit) value *= 1000;
  }
  return value >= 1 && value < 9e18 ? static_cast<int64_t>(value) : 0;
}

int64_t DefaultLimit() {
  if (const int64_t set = LimitFromEnvironment(); set > 0) return set;
  struct sysinfo info {};
  int64_t most = kUnlimited;
  if (sysinfo(&info) == 0) most = static_cast<int64_t>((info.totalram + info.totalswap) * info.mem_unit);
  most = std::min({most, OwnCgroupLimit(), CgroupLimit("/sys/fs/cgroup/memory.max"),
                   CgroupLimit("/sys/fs/cgroup/memory/memory.limit_in_bytes"), ResourceLimit(RLIMIT_AS),
                   ResourceLimit(RLIMIT_DATA)});
  return most == kUnlimited ? most : most / 10 * 9;
}

int64_t NowNanos() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

void ReleaseMemory() {
  constexpr int64_t kShortestPause = 10'000'000, kLongestPause = 1'000'000'000;
  static constinit std::atomic<int64_t> next{0}, pause{kShortestPause};
  static constinit std::atomic<bool> busy{false};  // also where a release allocates itself
  if (NowNanos() < next.load(std::memory_order_relaxed) || busy.exchange(true, std::memory_order_acquire)) return;
  const AllocationsMayFail never(false);
  const int64_t before = MeasureMemory();
  if (void (*release)() = releaser.load(std::memory_order_acquire)) release();
  malloc_trim(0);
  const bool helped = MeasureMemory() < before - before / 16;
  pause.store(helped ? kShortestPause : std::min(2 * pause.load(std::memory_order_relaxed), kLongestPause),
              std::memory_order_relaxed);
  next.store(helped ? 0 : NowNanos() + pause.load(std::memory_order_relaxed), std::memory_order_relaxed);
  busy.store(false, std::memory_order_release);
}

namespace {

bool IsWithin(int64_t bytes) {
  const int64_t most = MemoryLimit();
  return bytes <= most && MeasureMemory() <= most - bytes;
}

// Measures. True if `bytes` more are within the limit.
bool Measure(int64_t bytes) {
  bool within = IsWithin(bytes);
  if (!within && bytes <= MemoryLimit()) {
    ReleaseMemory();
    within = IsWithin(bytes);
  }
  // One request that is too large says nothing about the others.
  const bool full = !within && (bytes < kQuantum || !IsWithin(0));
  if (exhausted.load(std::memory_order_relaxed) != full) exhausted.store(full, std::memory_order_relaxed);
  return within;
}

__attribute__((noinline)) bool TakeSlowly(int64_t bytes) {
  left = kQuantum;
  const bool within = Measure(bytes);
  if (!within && AllocationsMayFail::now()) left = 0;  // the next one asks again
  return within;
}

}  // namespace

void SetMemoryLimit(int64_t bytes) { limit.store(std::max<int64_t>(bytes, 1), std::memory_order_relaxed); }

int64_t MemoryLimit() {
  const int64_t known = limit.load(std::memory_order_relaxed);
  if (known != 0) return known;
  int64_t unknown = 0;
  limit.compare_exchange_strong(unknown, DefaultLimit(), std::memory_order_relaxed);
  return limit.load(std::memory_order_relaxed);
}

int64_t MeasureMemory() {
#if defined(__SANITIZE_ADDRESS__)
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());  // without shadow memory and quarantine
#else
  static const int64_t page = sysconf(_SC_PAGESIZE);
  char text[128];
  if (!ReadSmallFile("/proc/self/statm", text, sizeof(text))) return 0;
  char* at = text;
  std::strtoll(at, &at, 10);  // the address space
  const int64_t resident = std::strtoll(at, &at, 10);
  const int64_t shared = std::strtoll(at, &at, 10);  // files and shared memory
  return std::max<int64_t>(resident - shared, 0) * page + shared_memory.load(std::memory_order_relaxed);
#endif
}

void CountSharedMemory(int64_t bytes_more) { shared_memory.fetch_add(bytes_more, std::memory_order_relaxed); }

Status MemoryExhausted() {
  const AllocationsMayFail never(false);
  return errors::ResourceExhausted("The process uses its ", MemoryLimit(), " bytes of memory (--max_memory_bytes)");
}

Status OutOfMemory() {
  const AllocationsMayFail never(false);  // somebody around the caller may have allowed it
  return errors::ResourceExhausted("OOM: the process may use ", MemoryLimit(), " bytes of memory (--max_memory_bytes)");
}

Status CheckMemory(int64_t bytes) { return Measure(bytes) ? OkStatus() : MemoryExhausted(); }

bool MemoryIsExhausted() {
  // Who sees that memory has run out looks whether that is still so.
  return exhausted.load(std::memory_order_relaxed) && !Measure(0);
}

bool MayTakeMemory(int64_t bytes) {
  left -= bytes;
  return left >= 0 || TakeSlowly(bytes);
}

void SetMemoryReleaser(void (*release)()) { releaser.store(release, std::memory_order_release); }

namespace {

inline void* NewBlock(size_t size) {
  left -= static_cast<int64_t>(std::min<size_t>(size, kUnlimited / 2));
  if (left < 0) [[unlikely]] {
    const bool within = TakeSlowly(static_cast<int64_t>(std::min<size_t>(size, kUnlimited / 2)));
    if (!within && AllocationsMayFail::now()) throw std::bad_alloc();
  }
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) [[unlikely]]
    throw std::bad_alloc();
  return block;
}

}  // namespace
}  // namespace millstream

// Sanitizers have operators of their own, which see more.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(size_t size) { return millstream::NewBlock(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
#endif
