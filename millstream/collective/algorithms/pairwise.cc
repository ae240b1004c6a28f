// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/collective/algorithms/algorithms.h"

namespace millstream::collective {

// Everybody sends each part to its owner, which adds them in the order of ranks.
Status PairwiseReduceScatter(Channel& channel, const Reduction& r, std::span<const int64_t> counts) {
  const int n = channel.size(), self = channel.rank();
  const std::vector<int64_t> offsets = Offsets(counts);
  const auto count = [&](int rank) { return counts[static_cast<size_t>(rank)]; };
  const auto part = [&](int rank) { return r.at(offsets[static_cast<size_t>(rank)]); };
  const size_t bytes = static_cast<size_t>(count(self)) * r.width();
  ASSIGN_OR_RETURN(char* const scratch, channel.Memory(bytes * static_cast<size_t>(n)));
  const auto contribution = [&](int rank) { return scratch + static_cast<size_t>(rank) * bytes; };
  for (int i = 1; i < n; ++i) channel.Expect(channel.Next(-i), 0, contribution(channel.Next(-i)), bytes);
  for (int i = 1; i < n; ++i) {
    const int to = channel.Next(i);
    channel.Send(to, 0, part(to), static_cast<size_t>(count(to)) * r.width());
  }
  for (int i = 1; i < n; ++i) RETURN_IF_ERROR(channel.Await(channel.Next(-i), 0, bytes));
  RETURN_IF_ERROR(channel.AwaitSent());
  if (bytes == 0) return OkStatus();
  std::memcpy(contribution(self), part(self), bytes);
  std::memcpy(part(self), contribution(0), bytes);
  for (int i = 1; i < n; ++i) r.Include(offsets[static_cast<size_t>(self)], contribution(i), count(self));
  r.FinishPart(offsets[static_cast<size_t>(self)], count(self));
  return OkStatus();
}

Status PairwiseAllToAll(Channel& channel, const char* in, std::span<const size_t> in_bytes, char* out,
                        std::span<const size_t> out_bytes) {
  const std::vector<size_t> in_at = Offsets(in_bytes), out_at = Offsets(out_bytes);
  const size_t self = static_cast<size_t>(channel.rank());
  if (in_bytes[self] != out_bytes[self]) {
    return errors::InvalidArgument("Rank ", self, " sends itself ", in_bytes[self], " bytes and receives ",
                                   out_bytes[self]);
  }
  for (int i = 1; i < channel.size(); ++i) {
    const size_t from = static_cast<size_t>(channel.Next(-i));
    channel.Expect(channel.Next(-i), 0, out + out_at[from], out_bytes[from]);
  }
  for (int i = 1; i < channel.size(); ++i) {
    const size_t to = static_cast<size_t>(channel.Next(i));
    channel.Send(channel.Next(i), 0, in + in_at[to], in_bytes[to]);
  }
  if (in_bytes[self] > 0) std::memcpy(out + out_at[self], in + in_at[self], in_bytes[self]);
  for (int i = 1; i < channel.size(); ++i) {
    const size_t from = static_cast<size_t>(channel.Next(-i));
    RETURN_IF_ERROR(channel.Await(channel.Next(-i), 0, out_bytes[from]));
  }
  return channel.AwaitSent();
}

Status ScatterBroadcast(Channel& channel, char* data, size_t bytes, int root) {
  std::vector<size_t> parts;
  for (const int64_t part : EvenCounts(static_cast<int64_t>(bytes), channel.size())) {
    parts.push_back(static_cast<size_t>(part));
  }
  const std::vector<size_t> offsets = Offsets(std::span<const size_t>(parts));
  const size_t self = static_cast<size_t>(channel.rank());
  if (channel.rank() == root) {
    for (int i = 1; i < channel.size(); ++i) {
      const size_t to = static_cast<size_t>(channel.Next(i));
      channel.Send(channel.Next(i), 0, data + offsets[to], parts[to]);
    }
  } else {
    RETURN_IF_ERROR(channel.Receive(root, 0, data + offsets[self], parts[self]));
  }
  return RingAllGather(channel, data, parts, /*first_number=*/1);
}

// Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization" (1988).
Status DisseminationBarrier(Channel& channel) {
  uint64_t number = 0;
  ASSIGN_OR_RETURN(char* const bytes, channel.Memory(2));  // what arrives, and what is sent; nobody looks at them
  bytes[1] = 0;
  for (int distance = 1; distance < channel.size(); distance *= 2, ++number) {
    channel.Expect(channel.Next(-distance), number, &bytes[0], 1);
    channel.Send(channel.Next(distance), number, &bytes[1], 1);
    RETURN_IF_ERROR(channel.Await(channel.Next(-distance), number, 1));
  }
  return channel.AwaitSent();
}

}  // namespace millstream::collective
