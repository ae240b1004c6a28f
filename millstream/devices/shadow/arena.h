// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_SHADOW_ARENA_H_
#define MILLSTREAM_DEVICES_SHADOW_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream::shadow {

// The memory of a shadow device: one range of pages, mapped twice. Tensors hold addresses of the first mapping, which
// nobody may touch: whoever forgets a copy crashes. The device's stream works in the second one. Thread-safe.
class Arena {
 public:
  // Unavailable if the system has no such memory.
  static StatusOr<std::unique_ptr<Arena>> Make(size_t bytes);
  ~Arena();

  // An address of the first mapping; null if there is not enough memory left in one piece.
  void* Allocate(size_t bytes);
  void Deallocate(void* block);

  // The same byte in the second mapping.
  void* Visible(const void* block) const {
    return const_cast<char*>(static_cast<const char*>(block)) + (visible_ - hidden_);
  }
  bool Holds(const void* at) const {
    const auto* byte = static_cast<const char*>(at);
    return byte >= hidden_ && byte < hidden_ + size_;
  }
  size_t size() const { return size_; }
  size_t bytes_in_use() const;

 private:
  Arena(char* hidden, char* visible, size_t size);

  char* const hidden_;
  char* const visible_;
  const size_t size_;
  mutable Mutex mu_;
  std::map<size_t, size_t> free_ ABSL_GUARDED_BY(mu_);  // offset -> bytes; neighbours are merged
  std::map<size_t, size_t> used_ ABSL_GUARDED_BY(mu_);
  size_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millstream::shadow

#endif  // MILLSTREAM_DEVICES_SHADOW_ARENA_H_
