// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_HISTORY_H_
#define MILLSTREAM_STATUS_HISTORY_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace millstream {

// A series that never outgrows its room and still reaches back to its beginning: once full, every second of its older
// points goes, and from then on only every second new one is kept, and so on. The newest is always there. Not
// thread-safe.
template <typename Point>
class History {
 public:
  explicit History(size_t room) : room_(room < 4 ? 4 : room) {}

  void Add(Point point) {
    if (has_tail_) points_.pop_back();
    has_tail_ = added_++ % stride_ != 0;  // a point between two strides stays until the next comes
    points_.push_back(std::move(point));
    if (points_.size() < room_) return;
    // Kept points have numbers 0, s, 2s, ...: every second of those are the multiples of 2s.
    size_t kept = 0;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (i % 2 == 0 || i + 1 == points_.size()) points_[kept++] = std::move(points_[i]);
    }
    has_tail_ = has_tail_ || points_.size() % 2 == 0;
    points_.resize(kept);
    stride_ *= 2;
  }

  const std::vector<Point>& points() const { return points_; }

 private:
  const size_t room_;
  size_t stride_ = 1;
  size_t added_ = 0;
  bool has_tail_ = false;  // the last point is not one of the stride
  std::vector<Point> points_;
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_HISTORY_H_
