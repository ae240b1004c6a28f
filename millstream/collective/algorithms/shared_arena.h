// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_SHARED_ARENA_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_SHARED_ARENA_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "millstream/base/thread_policy.h"
#include "millstream/collective/algorithms/lent_memory.h"
#include "millstream/collective/algorithms/shared_segment.h"
#include "millstream/collective/transport/transport.h"

namespace millstream::collective {

// Memory that all ranks of a group on one host map, and a barrier in it. Each rank has two stages there, which it fills
// by turns: what it wrote before a barrier others may read until the next but one. One thread per rank.
class SharedArena {
 public:
  static constexpr size_t kStageBytes = size_t{256} << 10;

  static size_t SegmentBytes(int ranks);
  // `group_ranks`: what the group calls the ranks of this host, for messages. REQUIRES: segment.bytes() >=
  // SegmentBytes(group_ranks.size()).
  SharedArena(SharedSegment segment, int rank, std::vector<int> group_ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Waits until all ranks have called it. DeadlineExceeded; the status of Interrupt().
  Status Barrier(Deadline deadline);
  // Barrier() fails from now on, in this process. Any thread.
  void Interrupt(const Status& why);

  // The stage that `rank` fills before the next barrier (`ahead` 0), or filled before the last one (`ahead` -1).
  char* stage(int rank, int ahead = 0) const;
  // What each rank tells the others before a barrier; read after it, and before the next.
  void Tell(uint64_t word);
  uint64_t Told(int rank) const;

  // Memory in which all ranks have a part, for data that the others reduce where it lies. The same order on all ranks.
  void AddShared(SharedSegment segment, size_t part_bytes);
  // Where [data, data + bytes) lies in the own part of shared memory, in a form that Find() takes; 0: nowhere.
  uint64_t WhereIs(const void* data, size_t bytes) const;
  // The memory of `rank` that it calls `where`; null if that is not in its part.
  char* Find(uint64_t where, int rank, size_t bytes) const;
  // The process's other memory that the others can read, in the same way. The ranks agree on whether there is any:
  // collective.
  Status AgreeOnLending(Deadline deadline);
  uint64_t WhereIsLent(const void* data) const;
  const char* FindLent(uint64_t where, int rank, size_t bytes) const;
  char* shared_part(size_t index, int rank) const;
  size_t num_shared() const { return shared_.size(); }

 private:
  struct Shared {
    SharedSegment segment;
    size_t part_bytes;
  };
  struct alignas(128) Rank {
    std::atomic<uint32_t> arrived;   // barriers that this rank has reached; others sleep on it
    std::atomic<uint32_t> sleepers;  // ranks that do
    std::atomic<uint64_t> told[2];
  };
  Rank& at(int rank) const { return reinterpret_cast<Rank*>(segment_.data())[rank]; }
  Status WaitFor(int rank, uint32_t count, Deadline deadline);
  bool Look(const Rank& peer, uint32_t count);

  SharedSegment segment_;
  const int rank_, ranks_;
  const std::vector<int> group_ranks_;
  uint32_t barriers_ = 0;
  std::vector<Shared> shared_;
  std::unique_ptr<LentMemory> lent_;  // null: none
  std::atomic<bool> interrupted_{false};
  Status why_;  // before interrupted_ is set
  CoreContention contention_{1'000'000};
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_SHARED_ARENA_H_
