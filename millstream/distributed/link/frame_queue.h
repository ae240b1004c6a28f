// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DISTRIBUTED_LINK_FRAME_QUEUE_H_
#define MILLSTREAM_DISTRIBUTED_LINK_FRAME_QUEUE_H_

#include <utility>
#include <vector>

#include "millstream/framework/peer_link.h"

namespace millstream {

// A queue of frames that keeps its room, so that a steady flow allocates nothing. Not thread-safe.
class FrameQueue {
 public:
  struct Item {
    Frame frame;
    int64_t due_ns = 0;  // not to be sent before
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  const Item& front() const { return ring_[first_]; }

  void Push(Frame frame, int64_t due_ns) {
    if (size_ == ring_.size()) Grow();
    Item& item = ring_[(first_ + size_++) & (ring_.size() - 1)];
    item.frame = std::move(frame);
    item.due_ns = due_ns;
  }
  Frame Pop() {
    Frame frame = std::move(ring_[first_].frame);
    first_ = (first_ + 1) & (ring_.size() - 1);
    --size_;
    return frame;
  }

 private:
  void Grow() {
    std::vector<Item> larger(ring_.empty() ? 8 : 2 * ring_.size());
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Item> ring_;  // its size is a power of two
  size_t first_ = 0, size_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_LINK_FRAME_QUEUE_H_
