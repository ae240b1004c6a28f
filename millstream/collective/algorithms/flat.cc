// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/collective/algorithms/algorithms.h"

namespace millstream::collective {

std::vector<int64_t> EvenCounts(int64_t count, int ranks) {
  std::vector<int64_t> counts(static_cast<size_t>(ranks), count / ranks);
  for (int64_t i = 0; i < count % ranks; ++i) ++counts[static_cast<size_t>(i)];
  return counts;
}

Status FlatAllReduce(Channel& channel, const Reduction& r) {
  const int n = channel.size(), self = channel.rank();
  const size_t bytes = r.bytes();
  ASSIGN_OR_RETURN(char* const all, channel.Memory(bytes * static_cast<size_t>(n)));
  const auto part = [&](int rank) { return all + static_cast<size_t>(rank) * bytes; };
  for (int i = 1; i < n; ++i) channel.Expect(channel.Next(i), 0, part(channel.Next(i)), bytes);
  for (int i = 1; i < n; ++i) channel.Send(channel.Next(i), 0, r.data, bytes);
  for (int i = 0; i < n; ++i) {
    if (i != self) RETURN_IF_ERROR(channel.Await(i, 0, bytes));
  }
  RETURN_IF_ERROR(channel.AwaitSent());
  if (bytes == 0) return OkStatus();
  // In the order of ranks, everywhere.
  if (self == 1) {
    ReduceFrom(r.op, r.dtype, r.data, part(0), r.count);
  } else if (self > 1) {
    std::memcpy(part(self), r.data, bytes);
    std::memcpy(r.data, part(0), bytes);
  }
  for (int i = self == 1 ? 2 : 1; i < n; ++i) r.Include(0, part(i), r.count);
  r.FinishPart(0, r.count);
  return OkStatus();
}

Status FlatAllGather(Channel& channel, char* data, std::span<const size_t> bytes) {
  const std::vector<size_t> offsets = Offsets(bytes);
  const size_t self = static_cast<size_t>(channel.rank());
  for (int i = 1; i < channel.size(); ++i) {
    const int from = channel.Next(-i);
    channel.Expect(from, 0, data + offsets[static_cast<size_t>(from)], bytes[static_cast<size_t>(from)]);
  }
  for (int i = 1; i < channel.size(); ++i) channel.Send(channel.Next(i), 0, data + offsets[self], bytes[self]);
  for (int i = 1; i < channel.size(); ++i) {
    const int from = channel.Next(-i);
    RETURN_IF_ERROR(channel.Await(from, 0, bytes[static_cast<size_t>(from)]));
  }
  return channel.AwaitSent();
}

}  // namespace millstream::collective
