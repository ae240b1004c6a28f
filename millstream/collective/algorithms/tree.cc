// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/algorithms/algorithms.h"

namespace millstream::collective {
namespace {

// Children of `place` in a binomial tree of `n`, whose root is 0: place + 1, 2, 4 ... below its lowest set bit.
int FirstStride(int place, int n) {
  if (place != 0) return place & -place;
  int stride = 1;
  while (stride < n) stride *= 2;
  return stride;
}

Status TreeReduce(Channel& channel, const Reduction& r) {
  const int n = channel.size(), self = channel.rank(), end = FirstStride(self, n);
  ASSIGN_OR_RETURN(char* const scratch, channel.Memory(r.bytes()));
  for (int stride = 1; stride < end; stride *= 2) {
    if (self + stride >= n) break;
    RETURN_IF_ERROR(channel.Receive(self + stride, 0, scratch, r.bytes()));
    r.Include(0, scratch, r.count);
  }
  if (self != 0) channel.Send(self - end, 0, r.data, r.bytes());
  return channel.AwaitSent();
}

}  // namespace

Status TreeBroadcast(Channel& channel, char* data, size_t bytes, int root, uint64_t first_number) {
  const int n = channel.size(), place = channel.Next(-root), first = FirstStride(place, n);
  const auto rank_at = [&](int at) { return (at + root) % n; };
  if (place != 0) RETURN_IF_ERROR(channel.Receive(rank_at(place - first), first_number, data, bytes));
  for (int stride = first / 2; stride > 0; stride /= 2) {
    if (place + stride < n) channel.Send(rank_at(place + stride), first_number, data, bytes);
  }
  return channel.AwaitSent();
}

Status TreeAllReduce(Channel& channel, const Reduction& r) {
  RETURN_IF_ERROR(TreeReduce(channel, r));
  if (channel.rank() == 0) r.FinishPart(0, r.count);
  return TreeBroadcast(channel, static_cast<char*>(r.data), r.bytes(), 0, /*first_number=*/1);
}

}  // namespace millstream::collective
