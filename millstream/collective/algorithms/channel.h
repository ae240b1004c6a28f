// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_CHANNEL_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_CHANNEL_H_

#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "millstream/collective/transport/transport.h"

namespace millstream::collective {

// Memory that the collectives of a group use again and again. Its contents do not survive the next Get().
class Scratch {
 public:
  char* Get(size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
      bytes_ = memory_ == nullptr ? 0 : bytes;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t bytes_ = 0;
};

// One collective as an algorithm sees it: some ranks of the group, numbered from 0 in the order of `ranks`, and
// messages between them that are numbered from 0 too. Algorithms of one collective that use overlapping ranks have
// different phases (0-15).
class Channel {
 public:
  Channel(Transport* transport, std::vector<int> ranks, int own_rank, uint64_t operation, int phase, Deadline deadline,
          Scratch* scratch)
      : transport_(transport),
        ranks_(std::move(ranks)),
        tag_(operation << 32 | static_cast<uint64_t>(phase) << 28),
        deadline_(deadline),
        scratch_(scratch) {
    while (rank_ < size() && ranks_[static_cast<size_t>(rank_)] != own_rank) ++rank_;
  }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  // Rank `rank` + `by` around the ring.
  int Next(int by) const { return ((rank_ + by) % size() + size()) % size(); }

  void Send(int to, uint64_t number, const void* data, size_t bytes) {
    if (bytes > 0) transport_->Send(ranks_[static_cast<size_t>(to)], tag_ + number, data, bytes);
  }
  void Expect(int from, uint64_t number, void* into, size_t bytes) {
    if (bytes > 0) transport_->Expect(ranks_[static_cast<size_t>(from)], tag_ + number, into, bytes);
  }
  // Of what was expected; messages of no bytes are not sent.
  Status Await(int from, uint64_t number, size_t bytes) {
    if (bytes == 0) return OkStatus();
    return transport_->Await(ranks_[static_cast<size_t>(from)], tag_ + number, deadline_);
  }
  Status Receive(int from, uint64_t number, void* into, size_t bytes) {
    Expect(from, number, into, bytes);
    return Await(from, number, bytes);
  }
  Status AwaitSent() { return transport_->AwaitSent(deadline_); }
  // ResourceExhausted if there is no memory.
  StatusOr<char*> Memory(size_t bytes) {
    char* const memory = scratch_->Get(bytes);
    if (memory == nullptr && bytes > 0) return errors::ResourceExhausted("No memory for ", bytes, " bytes of scratch");
    return memory;
  }

 private:
  Transport* const transport_;
  const std::vector<int> ranks_;
  const uint64_t tag_;
  const Deadline deadline_;
  Scratch* const scratch_;
  int rank_ = 0;
};

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_CHANNEL_H_
