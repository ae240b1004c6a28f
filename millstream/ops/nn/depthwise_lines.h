// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_DEPTHWISE_LINES_H_
#define MILLSTREAM_OPS_NN_DEPTHWISE_LINES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace millstream {

// How the lines of an image are read: as if there were zeros at both ends, each channel stood `multiplier` times, and,
// with a stride, every stride-th pixel lay beside the next one.
struct LineShape {
  int64_t width = 1, channels = 1;  // as stored
  int64_t multiplier = 1;
  int64_t left = 0;   // zeros before the first pixel
  int64_t total = 1;  // pixels with the zeros
  int64_t stride = 1;

  int64_t wide_channels() const { return channels * multiplier; }
  int64_t phase() const { return (total + stride - 1) / stride; }  // pixels with the same place in a stride
  bool stored() const { return left == 0 && total <= width && multiplier == 1 && stride == 1; }
  // Where pixel `at`, counted with the zeros, begins; those at + stride, at + 2 stride ... follow it.
  int64_t Offset(int64_t at) const { return (at % stride * phase() + at / stride) * wide_channels(); }
};

// Lines of images in that form; each is made once, if no more than `kept` others are asked for in between. Of lines
// that are stored so it makes no copies. For one thread.
template <typename T>
class Lines {
 public:
  Lines(const LineShape& shape, const T* images, int64_t kept)
      : shape_(shape),
        images_(images),
        made_(shape.stored() ? 0 : static_cast<size_t>(kept), -1),
        values_(made_.size() * static_cast<size_t>(shape.stride * shape.phase() * shape.wide_channels())) {}

  // Line `i`, counted over all images.
  const T* Get(int64_t i) {
    const T* line = images_ + i * shape_.width * shape_.channels;
    if (made_.empty()) return line;
    const size_t slot = static_cast<size_t>(i) % made_.size();
    T* copy = values_.data() + slot * (values_.size() / made_.size());
    if (made_[slot] != i) Copy(line, copy);
    made_[slot] = i;
    return copy;
  }

 private:
  void Copy(const T* line, T* copy) const {
    const int64_t c = shape_.wide_channels();
    if (shape_.stride == 1) {
      const int64_t used = std::clamp<int64_t>(shape_.total - shape_.left, 0, shape_.width);
      std::fill_n(copy, shape_.left * c, T(0));
      for (int64_t x = 0; x < used; x += shape_.multiplier == 1 ? used : 1) {
        CopyPixels(line + x * shape_.channels, shape_.multiplier == 1 ? used : 1, copy + (shape_.left + x) * c);
      }
      std::fill_n(copy + (shape_.left + used) * c, (shape_.total - shape_.left - used) * c, T(0));
      return;
    }
    for (int64_t at = 0; at < shape_.stride * shape_.phase(); ++at) {
      const int64_t x = at - shape_.left;
      T* to = copy + shape_.Offset(at);
      if (x < 0 || x >= shape_.width) {
        std::fill_n(to, c, T(0));
      } else {
        CopyPixels(line + x * shape_.channels, 1, to);
      }
    }
  }

  void CopyPixels(const T* from, int64_t pixels, T* to) const {
    const int64_t n = pixels * shape_.channels, m = shape_.multiplier;
    if (m == 1) {
      std::copy_n(from, n, to);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::fill_n(to + i * m, m, from[i]);
  }

  const LineShape shape_;
  const T* const images_;
  std::vector<int64_t> made_;  // which line each slot holds
  std::vector<T> values_;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_DEPTHWISE_LINES_H_
