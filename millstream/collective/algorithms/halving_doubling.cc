// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "millstream/collective/algorithms/algorithms.h"

namespace millstream::collective {
namespace {

// Numbers of the messages: each step has its own.
constexpr uint64_t kFold = 0, kUnfold = 1, kHalve = 2, kDouble = 64;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// What a rank holds before the step with distance `distance`, and after it.
Range Half(Range range, bool upper) {
  const int64_t middle = range.begin + range.size() / 2;
  return upper ? Range{middle, range.end} : Range{range.begin, middle};
}

// Exchanges halves with ranks at half the distance each time: then the rank has the sum of what it kept.
Status Halve(Channel& channel, const Reduction& r, int power, std::vector<Range>* ranges) {
  const int self = channel.rank();
  ASSIGN_OR_RETURN(char* const scratch, channel.Memory(r.bytes()));
  uint64_t number = kHalve;
  for (int distance = power / 2; distance > 0; distance /= 2, ++number) {
    const bool upper = (self & distance) != 0;
    const Range all = ranges->back(), keep = Half(all, upper), give = Half(all, !upper);
    const size_t keep_bytes = static_cast<size_t>(keep.size()) * r.width();
    channel.Expect(self ^ distance, number, scratch, keep_bytes);
    channel.Send(self ^ distance, number, r.at(give.begin), static_cast<size_t>(give.size()) * r.width());
    RETURN_IF_ERROR(channel.Await(self ^ distance, number, keep_bytes));
    if (upper) {  // the lower rank's contribution comes first
      ReduceFrom(r.op, r.dtype, r.at(keep.begin), scratch, keep.size());
    } else {
      r.Include(keep.begin, scratch, keep.size());
    }
    ranges->push_back(keep);
  }
  return OkStatus();
}

// The way back: in each step the partner has the other half.
Status Double(Channel& channel, const Reduction& r, int power, std::vector<Range>* ranges) {
  const int self = channel.rank();
  uint64_t number = kDouble;
  for (int distance = 1; distance < power; distance *= 2, ++number) {
    const Range have = ranges->back();
    ranges->pop_back();
    const Range want = Half(ranges->back(), (self & distance) == 0);
    const size_t bytes = static_cast<size_t>(want.size()) * r.width();
    channel.Expect(self ^ distance, number, r.at(want.begin), bytes);
    channel.Send(self ^ distance, number, r.at(have.begin), static_cast<size_t>(have.size()) * r.width());
    RETURN_IF_ERROR(channel.Await(self ^ distance, number, bytes));
  }
  return OkStatus();
}

}  // namespace

// Ranks beyond the largest power of two hand their data to a partner first and receive the result last.
Status HalvingDoublingAllReduce(Channel& channel, const Reduction& r) {
  const int n = channel.size(), self = channel.rank();
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  if (self >= power) {
    channel.Send(self - power, kFold, r.data, r.bytes());
    RETURN_IF_ERROR(channel.AwaitSent());
    return channel.Receive(self - power, kUnfold, r.data, r.bytes());
  }
  if (self + power < n) {
    ASSIGN_OR_RETURN(char* const scratch, channel.Memory(r.bytes()));
    RETURN_IF_ERROR(channel.Receive(self + power, kFold, scratch, r.bytes()));
    r.Include(0, scratch, r.count);
  }
  std::vector<Range> ranges = {{0, r.count}};
  RETURN_IF_ERROR(Halve(channel, r, power, &ranges));
  r.FinishPart(ranges.back().begin, ranges.back().size());
  RETURN_IF_ERROR(Double(channel, r, power, &ranges));
  if (self + power < n) channel.Send(self + power, kUnfold, r.data, r.bytes());
  return channel.AwaitSent();
}

}  // namespace millstream::collective
