// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_TWO_LEVEL_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_TWO_LEVEL_H_

#include <functional>

#include "millstream/collective/algorithms/algorithm.h"
#include "millstream/collective/algorithms/algorithms.h"
#include "millstream/collective/algorithms/shared_arena.h"

namespace millstream::collective {

// An all-reduce inside each host, where memory is shared or messages are fast, and between the hosts.
struct TwoLevelCall {
  const Topology& topology;
  int rank;
  SharedArena* arena;  // of the ranks on this host; null: they send messages
  Deadline deadline;
  // A channel over these ranks of the group.
  std::function<Channel(std::vector<int> ranks, int phase)> channel;
};

// Hosts with equally many ranks: every rank reduces its part inside the host and then with its like on other hosts, so
// that all links between hosts are used. Otherwise the first rank of each host speaks for it.
Status TwoLevelAllReduce(const TwoLevelCall& call, const Reduction& r);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_TWO_LEVEL_H_
