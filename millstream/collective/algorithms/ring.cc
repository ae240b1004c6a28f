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

// In round s every rank sends part (rank - 1 - s) to its right and adds part (rank - 2 - s) from its left; what it has
// added last is its own part, complete. Calls `complete` with each segment of that, one after the other.
template <typename Complete>
Status ReduceScatter(Channel& channel, const Reduction& r, const Segments& segments, const Complete& complete) {
  const int n = channel.size(), left = channel.Next(-1), right = channel.Next(1);
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
      RETURN_IF_ERROR(complete(segment));
    }
  }
  if (n == 1) r.FinishPart(0, r.count);
  return OkStatus();
}

// In round s every rank passes part (rank - s) on to its right. Segments of the own part may be sent as they become
// complete, and what the others have complete be taken meanwhile.
class Gathering {
 public:
  // Sizes of elements are `width`.
  Gathering(Channel& channel, char* data, const Segments& segments, size_t width, uint64_t first_number)
      : channel_(channel),
        data_(data),
        segments_(segments),
        width_(width),
        first_number_(first_number),
        left_(channel.Next(-1)),
        right_(channel.Next(1)),
        items_((channel.size() - 1) * segments.per_part()) {}

  // From now on complete segments of the others may be written to their places. What is there must be of no use any
  // more by the time that they are complete.
  void Begin() {
    while (expected_ < std::min(kWindow, items_)) Expect();
  }
  void SendOwn(int64_t segment) {
    const int self = channel_.rank();
    if (channel_.size() > 1) channel_.Send(right_, Number(segment), At(self, segment), Bytes(self, segment));
  }
  // Takes the next segment from the left and passes it on.
  Status TakeNext() {
    const int part = PartOf(taken_);
    const int64_t segment = taken_ % segments_.per_part();
    RETURN_IF_ERROR(channel_.Await(left_, Number(taken_), Bytes(part, segment)));
    if (expected_ < items_) Expect();
    if (taken_ + segments_.per_part() < items_) {
      channel_.Send(right_, Number(taken_ + segments_.per_part()), At(part, segment), Bytes(part, segment));
    }
    ++taken_;
    return OkStatus();
  }
  Status TakeRest() {
    while (taken_ < items_) RETURN_IF_ERROR(TakeNext());
    return OkStatus();
  }

 private:
  void Expect() {
    const int part = PartOf(expected_);
    const int64_t segment = expected_ % segments_.per_part();
    channel_.Expect(left_, Number(expected_), At(part, segment), Bytes(part, segment));
    ++expected_;
  }
  int PartOf(int64_t item) const { return channel_.Next(-1 - static_cast<int>(item / segments_.per_part())); }
  uint64_t Number(int64_t item) const { return first_number_ + static_cast<uint64_t>(item); }
  char* At(int part, int64_t segment) const {
    return data_ + static_cast<size_t>(segments_.begin(part, segment)) * width_;
  }
  size_t Bytes(int part, int64_t segment) const { return static_cast<size_t>(segments_.count(part, segment)) * width_; }

  Channel& channel_;
  char* const data_;
  const Segments& segments_;
  const size_t width_;
  const uint64_t first_number_;
  const int left_, right_;
  const int64_t items_;
  int64_t expected_ = 0, taken_ = 0;
};

}  // namespace

Status RingReduceScatter(Channel& channel, const Reduction& r, std::span<const int64_t> counts) {
  const Segments segments(counts, r.width());
  RETURN_IF_ERROR(ReduceScatter(channel, r, segments, [](int64_t /*segment*/) { return OkStatus(); }));
  return channel.AwaitSent();
}

Status RingAllGather(Channel& channel, char* data, std::span<const size_t> bytes, uint64_t first_number) {
  const std::vector<int64_t> counts(bytes.begin(), bytes.end());
  const Segments segments(counts, 1);
  Gathering gathering(channel, data, segments, 1, first_number);
  gathering.Begin();
  for (int64_t s = 0; s < segments.per_part(); ++s) gathering.SendOwn(s);
  RETURN_IF_ERROR(gathering.TakeRest());
  return channel.AwaitSent();
}

// A segment of the own part is sent as soon as it is complete, while it is in the processor's cache. It overwrites what
// the other ranks have at its place: that was sent and received before, or it would not be complete.
Status RingAllReduce(Channel& channel, const Reduction& r) {
  const Segments segments(EvenCounts(r.count, channel.size()), r.width());
  Gathering gathering(channel, static_cast<char*>(r.data), segments, r.width(), /*first_number=*/uint64_t{1} << 27);
  gathering.Begin();
  RETURN_IF_ERROR(ReduceScatter(channel, r, segments, [&](int64_t segment) {
    gathering.SendOwn(segment);
    return segment < kWindow ? OkStatus() : gathering.TakeNext();
  }));
  RETURN_IF_ERROR(gathering.TakeRest());
  return channel.AwaitSent();
}

}  // namespace millstream::collective
