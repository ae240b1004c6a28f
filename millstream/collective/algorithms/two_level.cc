// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/two_level.h"

#include "millstream/collective/algorithms/direct.h"

namespace millstream::collective {
namespace {

constexpr int kInside = 1, kBetween = 2, kBack = 3;  // phases
constexpr size_t kRingFrom = size_t{256} << 10;      // between hosts

std::vector<size_t> BytesOf(const std::vector<int64_t>& counts, size_t width) {
  std::vector<size_t> bytes;
  for (const int64_t count : counts) bytes.push_back(static_cast<size_t>(count) * width);
  return bytes;
}

Status BetweenHosts(Channel channel, const Reduction& r) {
  if (channel.size() == 1) {
    r.FinishPart(0, r.count);
    return OkStatus();
  }
  return r.bytes() < kRingFrom ? HalvingDoublingAllReduce(channel, r) : RingAllReduce(channel, r);
}

// With the ranks on other hosts that have the same number there.
Status ByParts(const TwoLevelCall& call, const std::vector<int>& local, const Reduction& r) {
  const int self = call.topology.local_rank(call.rank), n = static_cast<int>(local.size());
  const std::vector<int64_t> counts = EvenCounts(r.count, n), offsets = Offsets(std::span<const int64_t>(counts));
  const Reduction partial = {r.data, r.count, r.dtype, r.op, /*ranks=*/1};
  Channel inside = call.channel(local, kInside);
  RETURN_IF_ERROR(call.arena != nullptr ? DirectReduceScatter(*call.arena, partial, counts, call.deadline)
                                        : PairwiseReduceScatter(inside, partial, counts));
  std::vector<int> like;
  for (const std::vector<int>& host : call.topology.hosts) like.push_back(host[static_cast<size_t>(self)]);
  const size_t own = static_cast<size_t>(self);
  RETURN_IF_ERROR(
      BetweenHosts(call.channel(like, kBetween), {r.at(offsets[own]), counts[own], r.dtype, r.op, r.ranks}));
  Channel back = call.channel(local, kBack);
  char* const data = static_cast<char*>(r.data);
  return call.arena != nullptr ? DirectAllGather(*call.arena, data, BytesOf(counts, r.width()), call.deadline)
                               : RingAllGather(back, data, BytesOf(counts, r.width()));
}

Status ByLeaders(const TwoLevelCall& call, const std::vector<int>& local, const Reduction& r) {
  const Reduction partial = {r.data, r.count, r.dtype, r.op, /*ranks=*/1};
  Channel inside = call.channel(local, kInside);
  RETURN_IF_ERROR(call.arena != nullptr ? DirectAllReduce(*call.arena, partial, call.deadline)
                                        : HalvingDoublingAllReduce(inside, partial));
  if (local[0] == call.rank) {
    std::vector<int> leaders;
    for (const std::vector<int>& host : call.topology.hosts) leaders.push_back(host[0]);
    RETURN_IF_ERROR(BetweenHosts(call.channel(leaders, kBetween), r));
  }
  Channel back = call.channel(local, kBack);
  char* const data = static_cast<char*>(r.data);
  return call.arena != nullptr ? DirectBroadcast(*call.arena, data, r.bytes(), 0, call.deadline)
                               : TreeBroadcast(back, data, r.bytes(), 0);
}

}  // namespace

Status TwoLevelAllReduce(const TwoLevelCall& call, const Reduction& r) {
  const std::vector<int>& local = call.topology.hosts[call.topology.host_of(call.rank)];
  return call.topology.same_size() ? ByParts(call, local, r) : ByLeaders(call, local, r);
}

}  // namespace millstream::collective
