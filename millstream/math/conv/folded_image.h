// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_CONV_FOLDED_IMAGE_H_
#define MILLSTREAM_MATH_CONV_FOLDED_IMAGE_H_

#include <algorithm>
#include <cstdint>

namespace millstream::math {

// An image seen with each 2 x 2 block of its pixels as the channels of one: first the two pixels of the upper line,
// then those of the lower one. Pixels of a block that lie outside the image are zero.
struct FoldedImage {
  int64_t height = 0, width = 0, channels = 0;  // of the image as stored
  int64_t top = 0, left = 0;                    // 0 or 1: how much of the first block lies outside

  int64_t block_channels() const { return 4 * channels; }

  // Calls fn(pixel, place, count) for each run of `count` elements of line `y` of blocks, for blocks [first, last) of
  // it: they lie at element `pixel` of the image, and at `place` of the folded line, counted from block `first` on.
  template <typename Fn>
  void ForEachRun(int64_t y, int64_t first, int64_t last, Fn fn) const {
    for (int64_t below = 0; below < 2; ++below) {
      const int64_t line = 2 * y + below - top;
      if (line < 0 || line >= height) continue;
      for (int64_t x = first; x < last; ++x) {
        const int64_t at = 2 * x - left, begin = std::max<int64_t>(at, 0), end = std::min(at + 2, width);
        if (begin >= end) continue;
        fn((line * width + begin) * channels, (4 * (x - first) + 2 * below + begin - at) * channels,
           (end - begin) * channels);
      }
    }
  }
};

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_CONV_FOLDED_IMAGE_H_
