// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/collective/algorithms/algorithms.h"

namespace millstream::collective {
namespace {

// Parts travel in segments, so that one is reduced while the next is on its way; this many are expected at a time.
// Less than what a link writes at once (512 KB), so that no bytes of them are left to its I/O thread.
constexpr size_t kSegmentBytes = size_t{480} << 10;
constexpr int64_t kWindow = 4;

// The parts of an array, each cut into the same number of segments.
class Segments {
 public:
  Segments(std::span<const int64_t> counts, size_t width) : offsets_(Offsets(counts)) {
    int64_t largest = 0;
    for (const int64_t count : counts) largest = std::max(largest, count);
    const int64_t room = static_cast<int64_t>(kSegmentBytes / width);
    per_part_ = std::max<int64_t>(1, (largest + room - 1) / room);
    longest_ = (largest + per_part_ - 1) / per_part_;
  }
  int64_t per_part() const { return per_part_; }
  int64_t longest() const { return longest_; }
  int64_t begin(int part, int64_t segment) const {
    return std::min(offsets_[static_cast<size_t>(part)] + segment * longest_, offsets_[static_cast<size_t>(part) + 1]);
  }
  int64_t count(int part, int64_t segment) const { return begin(part, segment + 1) - begin(part, segment); }

 private:
  const std::vector<int64_t> offsets_;
  int64_t per_part_ = 1, longest_ = 0;
};

}  // namespace

// In round s every rank sends part (rank - 1 - s) to its right and adds part (rank - 2 - s) from its left; what it has
// added last is its own part, complete.
Status RingReduceScatter(Channel& channel, const Reduction& r, std::span<const int64_t> counts) {
  const int n = channel.size(), left = channel.Next(-1), right = channel.Next(1);
  const Segments segments(counts, r.width());
  const int64_t per_part = segments.per_part(), items = (n - 1) * per_part;
  const size_t room = static_cast<size_t>(segments.longest()) * r.width();
  ASSIGN_OR_RETURN(char* const scratch, channel.Memory(room * kWindow));
  const auto part_of = [&](int64_t item) { return channel.Next(-2 - static_cast<int>(item / per_part)); };
  const auto bytes_of = [&](int part, int64_t segment) {
    return static_cast<size_t>(segments.count(part, segment)) * r.width();
  };
  const auto expect = [&](int64_t item) {
    channel.Expect(left, static_cast<uint64_t>(item), scratch + static_cast<size_t>(item % kWindow) * room,
                   bytes_of(part_of(item), item % per_part));
  };
  for (int64_t item = 0; item < std::min(kWindow, items); ++item) expect(item);
  const int first = channel.Next(-1);
  for (int64_t s = 0; s < per_part && n > 1; ++s) {
    channel.Send(right, static_cast<uint64_t>(s), r.at(segments.begin(first, s)), bytes_of(first, s));
  }
  for (int64_t item = 0; item < items; ++item) {
    const int part = part_of(item);
    const int64_t segment = item % per_part, begin = segments.begin(part, segment);
    RETURN_IF_ERROR(channel.Await(left, static_cast<uint64_t>(item), bytes_of(part, segment)));
    r.Include(begin, scratch + static_cast<size_t>(item % kWindow) * room, segments.count(part, segment));
    if (item + kWindow < items) expect(item + kWindow);
    if (item + per_part < items) {
      channel.Send(right, static_cast<uint64_t>(item + per_part), r.at(begin), bytes_of(part, segment));
    } else {
      r.FinishPart(begin, segments.count(part, segment));
    }
  }
  if (n == 1) r.FinishPart(0, r.count);
  return channel.AwaitSent();
}

// In round s every rank passes part (rank - s) on to its right.
Status RingAllGather(Channel& channel, char* data, std::span<const size_t> bytes, uint64_t first_number) {
  const int n = channel.size(), left = channel.Next(-1), right = channel.Next(1);
  const std::vector<int64_t> counts(bytes.begin(), bytes.end());
  const Segments segments(counts, 1);
  const int64_t per_part = segments.per_part(), items = (n - 1) * per_part;
  const auto begin = [&](int part, int64_t segment) { return data + segments.begin(part, segment); };
  const auto count = [&](int part, int64_t segment) { return static_cast<size_t>(segments.count(part, segment)); };
  const auto part_of = [&](int64_t item) { return channel.Next(-1 - static_cast<int>(item / per_part)); };
  const auto number = [&](int64_t item) { return first_number + static_cast<uint64_t>(item); };
  for (int64_t item = 0; item < items; ++item) {
    const int part = part_of(item);
    channel.Expect(left, number(item), begin(part, item % per_part), count(part, item % per_part));
  }
  const int self = channel.rank();
  for (int64_t s = 0; s < per_part && n > 1; ++s) channel.Send(right, number(s), begin(self, s), count(self, s));
  for (int64_t item = 0; item < items; ++item) {
    const int part = part_of(item);
    const int64_t segment = item % per_part;
    RETURN_IF_ERROR(channel.Await(left, number(item), count(part, segment)));
    if (item + per_part < items) {
      channel.Send(right, number(item + per_part), begin(part, segment), count(part, segment));
    }
  }
  return channel.AwaitSent();
}

Status RingAllReduce(Channel& channel, const Reduction& r) {
  const std::vector<int64_t> counts = EvenCounts(r.count, channel.size());
  RETURN_IF_ERROR(RingReduceScatter(channel, r, counts));
  std::vector<size_t> bytes;
  for (const int64_t count : counts) bytes.push_back(static_cast<size_t>(count) * r.width());
  return RingAllGather(channel, static_cast<char*>(r.data), bytes, /*first_number=*/uint64_t{1} << 27);
}

}  // namespace millstream::collective
