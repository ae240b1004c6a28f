// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_READY_QUEUE_H_
#define MILLSTREAM_RUNTIME_READY_QUEUE_H_

#include <vector>

namespace millstream::internal {

// Nodes to run: updates wait until nothing else is left, and the newest goes first.
template <typename Item>
struct ReadyQueue {
  std::vector<Item> now;
  std::vector<Item> late;
  bool empty() const { return now.empty() && late.empty(); }
  bool Pop(Item* item) {
    std::vector<Item>& from = now.empty() ? late : now;
    if (from.empty()) return false;
    *item = from.back();
    from.pop_back();
    return true;
  }
};

}  // namespace millstream::internal

#endif  // MILLSTREAM_RUNTIME_READY_QUEUE_H_
