// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_SHM_RING_H_
#define MILLSTREAM_DISTRIBUTED_LINK_SHM_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "millstream/base/status.h"
#include "millstream/distributed/link/unique_fd.h"

namespace millstream {

// The shared words of a ring of bytes with one writer and one reader. Positions count bytes since the beginning and
// never wrap. All zero is an empty ring. The two flags ask the other side for a wake-up; whoever grants it clears the
// flag, so that a sleep costs at most one.
struct RingControl {
  alignas(128) std::atomic<uint64_t> tail;  // the writer's: bytes before it may be read
  std::atomic<uint64_t> rewind_at;  // the writer's: from here the stream goes on at the next start of the memory
  alignas(128) std::atomic<uint64_t> head;  // the reader's: bytes before it may be overwritten
  alignas(128) std::atomic<uint32_t> reader_sleeps;
  alignas(128) std::atomic<uint32_t> writer_waits;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// The writing end. The reader is another process and is not trusted: an impossible position of its is an error. A ring
// that the reader has emptied starts again at the front of its memory, so that light traffic touches few pages. Not
// thread-safe.
class RingWriter {
 public:
  // `capacity` is a power of two.
  RingWriter(RingControl* control, char* data, size_t capacity) : control_(control), data_(data), capacity_(capacity) {}

  // Free memory in one piece, empty if there is none now.
  Status Room(std::span<char>* room);
  // Hands the first `bytes` of Room() to the reader. True: it sleeps, and the caller must wake it.
  [[nodiscard]] bool Publish(size_t bytes);
  // Asks for a wake-up once there is room. True: there is room already.
  bool PrepareToWait();
  // How far the reader has come.
  uint64_t reader_position() const { return control_->head.load(std::memory_order_relaxed); }

 private:
  RingControl* const control_;
  char* const data_;
  const size_t capacity_;
  uint64_t tail_ = 0, head_seen_ = 0;
};

// The reading end; the writer is not trusted either. Not thread-safe.
class RingReader {
 public:
  RingReader(RingControl* control, const char* data, size_t capacity)
      : control_(control), data_(data), capacity_(capacity) {}

  // Bytes that have come, in one piece; empty if there are none. The writer can still change them: copy before
  // checking.
  Status Peek(std::span<const char>* bytes);
  // Gives back the first `bytes` of Peek(). True: the writer waits for room, and the caller must wake it.
  [[nodiscard]] bool Release(size_t bytes);
  // Asks for a wake-up once there are bytes. True: there are some already.
  bool PrepareToSleep();

 private:
  RingControl* const control_;
  const char* const data_;
  const size_t capacity_;
  uint64_t head_ = 0;
};

// Tells of one loan (loans.h) whether it is still out: the lender sets it, the borrower clears it.
using LoanFlag = std::atomic<uint32_t>;
inline constexpr size_t kLoans = 256;  // that may be out at a time, each way

// Memory of two processes with a ring for each direction, and the flags of what each has lent to the other. Nobody can
// shrink it under the feet of the other.
class ShmSegment {
 public:
  ShmSegment() = default;
  ~ShmSegment() { Unmap(); }
  ShmSegment(ShmSegment&& o) noexcept { *this = std::move(o); }
  ShmSegment& operator=(ShmSegment&& o) noexcept;

  // `ring_bytes` is rounded up to a power of two within limits.
  static size_t RingBytes(size_t ring_bytes);
  static StatusOr<ShmSegment> Create(size_t ring_bytes, UniqueFd* fd);
  // Memory that a peer made: refused if the peer could take it away again or if it is not what it claims to be.
  static StatusOr<ShmSegment> Attach(UniqueFd fd, uint64_t ring_bytes);

  void Unmap();
  size_t ring_bytes() const { return ring_bytes_; }
  // `way` is 0 for the ring from the maker, 1 for the ring to it.
  RingWriter writer(int way) const { return RingWriter(control(way), data(way), ring_bytes_); }
  RingReader reader(int way) const { return RingReader(control(way), data(way), ring_bytes_); }
  std::span<LoanFlag, kLoans> loans(int way) const;

 private:
  static StatusOr<ShmSegment> Map(int fd, size_t ring_bytes);
  RingControl* control(int way) const;
  char* data(int way) const;

  char* memory_ = nullptr;
  size_t ring_bytes_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_SHM_RING_H_
