// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/shadow/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millstream::shadow {
namespace {

constexpr size_t kAlignment = 256;  // as accelerators give it

size_t RoundUp(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment; }

char* Map(int file, size_t bytes, int protection) {
  void* const at = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

}  // namespace

StatusOr<std::unique_ptr<Arena>> Arena::Make(size_t bytes) {
  bytes = RoundUp(bytes);
  const int file = memfd_create("millstream_shadow", MFD_CLOEXEC);
  if (file < 0) return errors::Unavailable("memfd_create: ", std::strerror(errno));
  char* hidden = nullptr;
  char* visible = nullptr;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    hidden = Map(file, bytes, PROT_NONE);
    visible = Map(file, bytes, PROT_READ | PROT_WRITE);
  }
  const int error = errno;
  close(file);
  if (hidden == nullptr || visible == nullptr) {
    if (hidden != nullptr) munmap(hidden, bytes);
    if (visible != nullptr) munmap(visible, bytes);
    return errors::Unavailable("cannot map the memory of a shadow device: ", std::strerror(error));
  }
  return std::unique_ptr<Arena>(new Arena(hidden, visible, bytes));
}

Arena::Arena(char* hidden, char* visible, size_t size) : hidden_(hidden), visible_(visible), size_(size) {
  free_.emplace(0, size);
}

Arena::~Arena() {
  munmap(hidden_, size_);
  munmap(visible_, size_);
}

void* Arena::Allocate(size_t bytes) {
  if (bytes > size_) return nullptr;
  bytes = RoundUp(bytes);
  MutexLock lock(mu_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const size_t offset = it->first;
    const size_t rest = it->second - bytes;
    free_.erase(it);
    if (rest > 0) free_.emplace(offset + bytes, rest);
    used_.emplace(offset, bytes);
    in_use_ += bytes;
    return hidden_ + offset;
  }
  return nullptr;
}

void Arena::Deallocate(void* block) {
  MutexLock lock(mu_);
  const auto used = used_.find(static_cast<size_t>(static_cast<char*>(block) - hidden_));
  auto [at, bytes] = *used;
  used_.erase(used);
  in_use_ -= bytes;
  auto next = free_.lower_bound(at);
  if (next != free_.end() && next->first == at + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == at) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(at, bytes);
}

size_t Arena::bytes_in_use() const {
  MutexLock lock(mu_);
  return in_use_;
}

}  // namespace millstream::shadow
