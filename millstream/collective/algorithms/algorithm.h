// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_ALGORITHM_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_ALGORITHM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream::collective {

enum class Collective : uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kAllToAll, kBarrier };

enum class Algorithm : uint8_t {
  kAuto,  // chosen by ChooseAlgorithm()
  kFlat,  // each to each
  kTree,
  kRing,
  kHalvingDoubling,
  kDirect,    // in memory that all ranks share
  kTwoLevel,  // inside each host first
};

absl::string_view CollectiveName(Collective collective);  // "all-reduce"
absl::string_view AlgorithmName(Algorithm algorithm);     // "halving-doubling"

// The algorithms that a collective has; all of them give the same result up to rounding.
std::span<const Algorithm> AlgorithmsOf(Collective collective);

// Which ranks are on which host, in the order of their ranks.
struct Topology {
  std::vector<std::vector<int>> hosts;
  bool shared_memory = false;  // between the ranks of each host

  static Topology Of(std::span<const std::string> hosts_of_ranks, bool shared_memory);
  int ranks() const;
  bool single_host() const { return hosts.size() == 1; }
  // The host of a rank, and its number there.
  size_t host_of(int rank) const;
  int local_rank(int rank) const;
  bool same_size() const;  // of all hosts
};

// The fastest for so many bytes (of the whole array), from measurements: see docs/collectives.md.
Algorithm ChooseAlgorithm(Collective collective, const Topology& topology, size_t bytes);
// Whether the algorithm can run there at all.
bool CanUse(Algorithm algorithm, Collective collective, const Topology& topology);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_ALGORITHM_H_
