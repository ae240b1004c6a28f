// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/shared_arena.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>

#include "millstream/collective/transport/inbox.h"

namespace millstream::collective {
namespace {

constexpr size_t kPage = 4096;
// A rank that sleeps looks around this often: who interrupts it may be unable to wake it.
constexpr int64_t kNapNanos = 20'000'000;
constexpr int kLooks = 256;  // between two yields
constexpr uint64_t kLentBit = uint64_t{1} << 63;

uint32_t* Word(const std::atomic<uint32_t>& value) {
  return reinterpret_cast<uint32_t*>(const_cast<std::atomic<uint32_t>*>(&value));
}

void Sleep(const std::atomic<uint32_t>& word, uint32_t seen, int64_t nanos) {
  timespec time = {nanos / 1'000'000'000, nanos % 1'000'000'000};
  syscall(SYS_futex, Word(word), FUTEX_WAIT, seen, &time, nullptr, 0);
}

void WakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, Word(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Reached(const std::atomic<uint32_t>& arrived, uint32_t count) {
  return static_cast<int32_t>(arrived.load(std::memory_order_acquire) - count) >= 0;
}

size_t ControlBytes(int ranks) { return (static_cast<size_t>(ranks) * 128 + kPage - 1) / kPage * kPage; }

}  // namespace

size_t SharedArena::SegmentBytes(int ranks) {
  return ControlBytes(ranks) + static_cast<size_t>(ranks) * 2 * kStageBytes;
}

SharedArena::SharedArena(SharedSegment segment, int rank, std::vector<int> group_ranks)
    : segment_(std::move(segment)),
      rank_(rank),
      ranks_(static_cast<int>(group_ranks.size())),
      group_ranks_(std::move(group_ranks)) {
  static_assert(sizeof(Rank) == 128);
}

char* SharedArena::stage(int rank, int ahead) const {
  const uint32_t parity = (barriers_ + static_cast<uint32_t>(ahead)) & 1;
  return segment_.data() + ControlBytes(ranks_) + (static_cast<size_t>(rank) * 2 + parity) * kStageBytes;
}

void SharedArena::Tell(uint64_t word) { at(rank_).told[barriers_ & 1].store(word, std::memory_order_relaxed); }

uint64_t SharedArena::Told(int rank) const {
  return at(rank).told[(barriers_ - 1) & 1].load(std::memory_order_relaxed);
}

void SharedArena::Interrupt(const Status& why) {
  if (interrupted_.load(std::memory_order_acquire)) return;
  why_ = why;
  interrupted_.store(true, std::memory_order_release);
  for (int rank = 0; rank < ranks_; ++rank) WakeAll(at(rank).arrived);
}

// True if the peer has arrived; false: it is time to sleep.
bool SharedArena::Look(const Rank& peer, uint32_t count) {
  LookFor(LookWindow(kLookNanos, &contention_), kLooks,
          [&] { return Reached(peer.arrived, count) || interrupted_.load(std::memory_order_relaxed); });
  return Reached(peer.arrived, count);
}

Status SharedArena::WaitFor(int rank, uint32_t count, Deadline deadline) {
  Rank& peer = at(rank);
  if (Look(peer, count)) return OkStatus();
  for (;;) {
    if (interrupted_.load(std::memory_order_acquire)) return why_;
    const int64_t left = std::chrono::nanoseconds(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0)
      return errors::DeadlineExceeded("rank ", group_ranks_[static_cast<size_t>(rank)], " has not arrived");
    peer.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = peer.arrived.load(std::memory_order_seq_cst);
    if (!Reached(peer.arrived, count)) Sleep(peer.arrived, seen, std::min(left, kNapNanos));
    peer.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (Reached(peer.arrived, count)) return OkStatus();
  }
}

Status SharedArena::Barrier(Deadline deadline) {
  if (interrupted_.load(std::memory_order_acquire)) return why_;
  Rank& self = at(rank_);
  const uint32_t count = ++barriers_;
  self.arrived.store(count, std::memory_order_seq_cst);
  if (self.sleepers.load(std::memory_order_seq_cst) != 0) WakeAll(self.arrived);
  for (int i = 1; i < ranks_; ++i) {
    const int peer = (rank_ + i) % ranks_;
    if (!Reached(at(peer).arrived, count)) RETURN_IF_ERROR(WaitFor(peer, count, deadline));
  }
  return OkStatus();
}

void SharedArena::AddShared(SharedSegment segment, size_t part_bytes) {
  shared_.push_back({std::move(segment), part_bytes});
}

char* SharedArena::shared_part(size_t index, int rank) const {
  return shared_[index].segment.data() + static_cast<size_t>(rank) * shared_[index].part_bytes;
}

uint64_t SharedArena::WhereIs(const void* data, size_t bytes) const {
  for (size_t i = 0; i < shared_.size(); ++i) {
    const char* const begin = shared_part(i, rank_);
    if (data < begin || data > begin + shared_[i].part_bytes) continue;
    const size_t offset = static_cast<size_t>(static_cast<const char*>(data) - begin);
    if (bytes <= shared_[i].part_bytes - offset) return (static_cast<uint64_t>(i) + 1) << 48 | offset;
  }
  return 0;
}

char* SharedArena::Find(uint64_t where, int rank, size_t bytes) const {
  const uint64_t index = where >> 48, offset = where & ((uint64_t{1} << 48) - 1);
  if (index == 0 || index > shared_.size()) return nullptr;
  const size_t part_bytes = shared_[index - 1].part_bytes;
  if (offset > part_bytes || bytes > part_bytes - offset) return nullptr;
  return shared_part(index - 1, rank) + offset;
}

Status SharedArena::AgreeOnLending(Deadline deadline) {
  const auto exchange = [&](std::span<const char> own, std::vector<char>* all) -> Status {
    std::memcpy(stage(rank_), own.data(), own.size());
    RETURN_IF_ERROR(Barrier(deadline));
    for (int rank = 0; rank < ranks_; ++rank) {
      const char* const told = stage(rank, -1);
      all->insert(all->end(), told, told + own.size());
    }
    return OkStatus();
  };
  ASSIGN_OR_RETURN(lent_, LentMemory::Agree(rank_, ranks_, exchange));
  return OkStatus();
}

uint64_t SharedArena::WhereIsLent(const void* data) const {
  const int64_t where = lent_ == nullptr ? -1 : lent_->WhereIs(data);
  return where < 0 ? 0 : kLentBit | static_cast<uint64_t>(where);
}

const char* SharedArena::FindLent(uint64_t where, int rank, size_t bytes) const {
  if (lent_ == nullptr || (where & kLentBit) == 0) return nullptr;
  return lent_->Find(static_cast<int64_t>(where & ~kLentBit), rank, bytes);
}

}  // namespace millstream::collective
