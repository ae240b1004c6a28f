// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/link/shm_ring.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "millstream/base/sealed_memory.h"

namespace millstream {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMinRing = size_t{64} << 10, kMaxRing = size_t{1} << 30;
constexpr size_t kFlagsAt = 2 * sizeof(RingControl);
static_assert(kFlagsAt + 2 * kLoans * sizeof(LoanFlag) <= kPage);
// An emptied ring goes back to its front from here on: small enough to stay in a cache, large enough that going back,
// which shortens the room until the reader follows, is rare.
constexpr uint64_t kWarmBytes = uint64_t{256} << 10;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

size_t SegmentBytes(size_t ring_bytes) { return kPage + 2 * ring_bytes; }

Status SystemError(const char* what) { return errors::Unavailable(what, ": ", std::strerror(errno)); }

}  // namespace

Status RingWriter::Room(std::span<char>* room) {
  const uint64_t offset = tail_ & (capacity_ - 1);
  if (offset >= kWarmBytes || tail_ - head_seen_ > capacity_ / 2) {
    const uint64_t head = control_->head.load(std::memory_order_acquire);
    if (head - head_seen_ > tail_ - head_seen_)
      return errors::DataLoss("the reader of a shared ring claims what was never written");
    head_seen_ = head;
    if (head == tail_ && offset >= kWarmBytes) {
      control_->rewind_at.store(tail_, std::memory_order_relaxed);  // seen with the tail that is published next
      tail_ += capacity_ - offset;
    }
  }
  const uint64_t start = tail_ & (capacity_ - 1), free = capacity_ - (tail_ - head_seen_);
  *room = {data_ + start, static_cast<size_t>(std::min(free, capacity_ - start))};
  return OkStatus();
}

bool RingWriter::Publish(size_t bytes) {
  tail_ += bytes;
  control_->tail.store(tail_, std::memory_order_seq_cst);
  return control_->reader_sleeps.load(std::memory_order_seq_cst) != 0 &&
         control_->reader_sleeps.exchange(0, std::memory_order_seq_cst) != 0;
}

bool RingWriter::PrepareToWait() {
  control_->writer_waits.store(1, std::memory_order_seq_cst);
  const uint64_t head = control_->head.load(std::memory_order_seq_cst);
  return head != head_seen_ || tail_ - head_seen_ < capacity_;
}

Status RingReader::Peek(std::span<const char>* bytes) {
  const uint64_t tail = control_->tail.load(std::memory_order_acquire);
  if (tail - head_ > capacity_) return errors::DataLoss("the writer of a shared ring claims more than it can hold");
  const uint64_t offset = head_ & (capacity_ - 1);
  if (tail != head_ && offset != 0 && control_->rewind_at.load(std::memory_order_relaxed) == head_) {
    if (tail - head_ < capacity_ - offset) return errors::DataLoss("the writer of a shared ring went back too early");
    head_ += capacity_ - offset;
  }
  const uint64_t start = head_ & (capacity_ - 1);
  *bytes = {data_ + start, static_cast<size_t>(std::min(tail - head_, capacity_ - start))};
  return OkStatus();
}

bool RingReader::Release(size_t bytes) {
  head_ += bytes;
  control_->head.store(head_, std::memory_order_seq_cst);
  return control_->writer_waits.load(std::memory_order_seq_cst) != 0 &&
         control_->writer_waits.exchange(0, std::memory_order_seq_cst) != 0;
}

bool RingReader::PrepareToSleep() {
  if (control_->reader_sleeps.load(std::memory_order_relaxed) == 0) {
    control_->reader_sleeps.store(1, std::memory_order_seq_cst);
  }
  return control_->tail.load(std::memory_order_seq_cst) != head_;
}

ShmSegment& ShmSegment::operator=(ShmSegment&& o) noexcept {
  std::swap(memory_, o.memory_);
  std::swap(ring_bytes_, o.ring_bytes_);
  return *this;
}

size_t ShmSegment::RingBytes(size_t ring_bytes) { return std::bit_ceil(std::clamp(ring_bytes, kMinRing, kMaxRing)); }

StatusOr<ShmSegment> ShmSegment::Create(size_t ring_bytes, UniqueFd* fd) {
  ring_bytes = RingBytes(ring_bytes);
  UniqueFd made(memfd_create("millstream_link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made) return SystemError("memfd_create");
  if (ftruncate(made.get(), static_cast<off_t>(SegmentBytes(ring_bytes))) != 0) return SystemError("ftruncate");
  if (fcntl(made.get(), F_ADD_SEALS, kSeals) != 0) return SystemError("sealing shared memory");
  ASSIGN_OR_RETURN(ShmSegment segment, Map(made.get(), ring_bytes));
  *fd = std::move(made);
  return segment;
}

StatusOr<ShmSegment> ShmSegment::Attach(UniqueFd fd, uint64_t ring_bytes) {
  if (ring_bytes < kMinRing || ring_bytes > kMaxRing || !std::has_single_bit(ring_bytes)) {
    return errors::InvalidArgument("rings of ", ring_bytes, " bytes");
  }
  const StatusOr<uint64_t> bytes = SealedMemoryBytes(fd.get());
  if (!bytes.ok() || *bytes < SegmentBytes(ring_bytes)) {
    return errors::InvalidArgument("not a sealed memory file of the announced size");
  }
  return Map(fd.get(), ring_bytes);
}

StatusOr<ShmSegment> ShmSegment::Map(int fd, size_t ring_bytes) {
  void* memory = mmap(nullptr, SegmentBytes(ring_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return SystemError("mmap of shared memory");
  ShmSegment segment;
  segment.memory_ = static_cast<char*>(memory);
  segment.ring_bytes_ = ring_bytes;
  return segment;
}

void ShmSegment::Unmap() {
  if (memory_ != nullptr) munmap(std::exchange(memory_, nullptr), SegmentBytes(ring_bytes_));
}

RingControl* ShmSegment::control(int way) const {
  return reinterpret_cast<RingControl*>(memory_ + way * sizeof(RingControl));
}

std::span<LoanFlag, kLoans> ShmSegment::loans(int way) const {
  return std::span<LoanFlag, kLoans>(reinterpret_cast<LoanFlag*>(memory_ + kFlagsAt) + way * kLoans, kLoans);
}

char* ShmSegment::data(int way) const { return memory_ + kPage + static_cast<size_t>(way) * ring_bytes_; }

}  // namespace millstream
