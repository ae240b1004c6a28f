// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_SHARED_SEGMENT_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_SHARED_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "millstream/base/status.h"

namespace millstream::collective {

// How another process of the host finds a segment. Plain bytes: it travels in messages.
struct SegmentName {
  int64_t process = 0;
  int64_t descriptor = -1;
  uint64_t bytes = 0;
  uint64_t key[2] = {0, 0};  // random; the segment begins with it
};

// Memory that several processes of one host map: a sealed memory file without a name, which goes with its last mapping.
// Others open it through /proc, which the kernel allows to processes of the same user alone.
class SharedSegment {
 public:
  SharedSegment() = default;
  ~SharedSegment();
  SharedSegment(SharedSegment&& o) noexcept { *this = std::move(o); }
  SharedSegment& operator=(SharedSegment&& o) noexcept;

  // Zeros. `bytes` of them are usable. Unavailable if the system has no such memory.
  static StatusOr<SharedSegment> Create(size_t bytes);
  // Unavailable if it cannot be opened (another host, user or process namespace), InvalidArgument if it is not what its
  // name says.
  static StatusOr<SharedSegment> Open(const SegmentName& name);
  // Ends the opening of this segment by others; mappings stay.
  void CloseDescriptor();

  const SegmentName& name() const { return name_; }
  char* data() const;
  size_t bytes() const;
  bool Contains(const void* data, size_t bytes) const;

 private:
  static StatusOr<SharedSegment> Map(int fd, const SegmentName& name);

  SegmentName name_;
  char* memory_ = nullptr;
  int fd_ = -1;  // of the maker
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_SHARED_SEGMENT_H_
