// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/algorithm.h"

#include <algorithm>
#include <map>

namespace millstream::collective {
namespace {

constexpr size_t kKb = 1024, kAny = SIZE_MAX;

// Rows are tried in order: the first whose limits are not exceeded counts.
struct Row {
  Collective collective;
  int max_ranks;
  size_t max_bytes;
  Algorithm algorithm;
};

// Between processes without shared memory (TCP, TLS, links).
constexpr Row kByMessages[] = {
    {Collective::kAllReduce, 2, 256 * kKb, Algorithm::kFlat},  // as many bytes as by halves, in one round
    {Collective::kAllReduce, 4, 16 * kKb, Algorithm::kFlat},
    {Collective::kAllReduce, 1 << 30, 2 * kKb, Algorithm::kTree},
    {Collective::kAllReduce, 1 << 30, 512 * kKb, Algorithm::kHalvingDoubling},
    {Collective::kAllReduce, 1 << 30, kAny, Algorithm::kRing},
    {Collective::kReduceScatter, 1 << 30, 256 * kKb, Algorithm::kFlat},
    {Collective::kReduceScatter, 1 << 30, kAny, Algorithm::kRing},
    {Collective::kAllGather, 1 << 30, 256 * kKb, Algorithm::kFlat},
    {Collective::kAllGather, 1 << 30, kAny, Algorithm::kRing},
    {Collective::kBroadcast, 3, kAny, Algorithm::kTree},
    {Collective::kBroadcast, 1 << 30, 512 * kKb, Algorithm::kTree},
    {Collective::kBroadcast, 1 << 30, kAny, Algorithm::kRing},
    {Collective::kAllToAll, 1 << 30, kAny, Algorithm::kFlat},
    {Collective::kBarrier, 1 << 30, kAny, Algorithm::kTree},
};

// Two levels pay where they save rounds between hosts, which is always but for arrays that one round carries.
constexpr size_t kTwoLevelFrom = 4 * kKb;

constexpr Algorithm kAllReduceAlgorithms[] = {Algorithm::kFlat,   Algorithm::kTree,
                                              Algorithm::kRing,   Algorithm::kHalvingDoubling,
                                              Algorithm::kDirect, Algorithm::kTwoLevel};
constexpr Algorithm kReduceScatterAlgorithms[] = {Algorithm::kFlat, Algorithm::kRing, Algorithm::kDirect};
constexpr Algorithm kAllGatherAlgorithms[] = {Algorithm::kFlat, Algorithm::kRing, Algorithm::kDirect};
constexpr Algorithm kBroadcastAlgorithms[] = {Algorithm::kTree, Algorithm::kRing, Algorithm::kDirect};
constexpr Algorithm kAllToAllAlgorithms[] = {Algorithm::kFlat, Algorithm::kDirect};
constexpr Algorithm kBarrierAlgorithms[] = {Algorithm::kTree, Algorithm::kDirect};

}  // namespace

absl::string_view CollectiveName(Collective collective) {
  constexpr absl::string_view kNames[] = {"all-reduce", "reduce-scatter", "all-gather",
                                          "broadcast",  "all-to-all",     "barrier"};
  return kNames[static_cast<size_t>(collective)];
}

absl::string_view AlgorithmName(Algorithm algorithm) {
  constexpr absl::string_view kNames[] = {"auto", "flat", "tree", "ring", "halving-doubling", "direct", "two-level"};
  return kNames[static_cast<size_t>(algorithm)];
}

std::span<const Algorithm> AlgorithmsOf(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return kAllReduceAlgorithms;
    case Collective::kReduceScatter:
      return kReduceScatterAlgorithms;
    case Collective::kAllGather:
      return kAllGatherAlgorithms;
    case Collective::kBroadcast:
      return kBroadcastAlgorithms;
    case Collective::kAllToAll:
      return kAllToAllAlgorithms;
    case Collective::kBarrier:
      return kBarrierAlgorithms;
  }
  return {};
}

Topology Topology::Of(std::span<const std::string> hosts_of_ranks, bool shared_memory) {
  Topology topology;
  topology.shared_memory = shared_memory;
  std::map<std::string, size_t> numbers;
  for (size_t rank = 0; rank < hosts_of_ranks.size(); ++rank) {
    const auto [it, is_new] = numbers.try_emplace(hosts_of_ranks[rank], topology.hosts.size());
    if (is_new) topology.hosts.emplace_back();
    topology.hosts[it->second].push_back(static_cast<int>(rank));
  }
  return topology;
}

int Topology::ranks() const {
  size_t ranks = 0;
  for (const std::vector<int>& host : hosts) ranks += host.size();
  return static_cast<int>(ranks);
}

size_t Topology::host_of(int rank) const {
  size_t host = 0;
  while (std::find(hosts[host].begin(), hosts[host].end(), rank) == hosts[host].end()) ++host;
  return host;
}

int Topology::local_rank(int rank) const {
  const std::vector<int>& host = hosts[host_of(rank)];
  return static_cast<int>(std::find(host.begin(), host.end(), rank) - host.begin());
}

bool Topology::same_size() const {
  return std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) { return host.size() == hosts[0].size(); });
}

bool CanUse(Algorithm algorithm, Collective collective, const Topology& topology) {
  const std::span<const Algorithm> all = AlgorithmsOf(collective);
  if (std::find(all.begin(), all.end(), algorithm) == all.end()) return false;
  return algorithm != Algorithm::kDirect || (topology.single_host() && topology.shared_memory);
}

Algorithm ChooseAlgorithm(Collective collective, const Topology& topology, size_t bytes) {
  if (CanUse(Algorithm::kDirect, collective, topology)) return Algorithm::kDirect;
  const int ranks = topology.ranks();
  if (collective == Collective::kAllReduce && !topology.single_host() && bytes > kTwoLevelFrom &&
      static_cast<size_t>(ranks) > topology.hosts.size()) {
    return Algorithm::kTwoLevel;
  }
  for (const Row& row : kByMessages) {
    if (row.collective == collective && ranks <= row.max_ranks && bytes <= row.max_bytes) return row.algorithm;
  }
  return Algorithm::kRing;
}

}  // namespace millstream::collective
