// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_IMAGE_LAYOUT_H_
#define MILLSTREAM_OPS_NN_IMAGE_LAYOUT_H_

#include <algorithm>
#include <vector>

#include "millstream/framework/kernel.h"

namespace millstream {

// The order of dimensions of images and volumes: [batch, rows, columns, channels] or [batch, channels, rows, columns].
// Kernels compute with channels last; operands that have them first are transposed before, and results after.
class ImageLayout {
 public:
  ImageLayout() = default;
  explicit ImageLayout(bool channels_first) : channels_first_(channels_first) {}
  bool channels_first() const { return channels_first_; }

  // `count` values for each dimension, in the order of this layout, with those of the channels moved to the end.
  template <typename Values>
  Values ToLast(const Values& values, int count = 1) const {
    Values last = values;
    if (channels_first_ && static_cast<int>(values.size()) >= 3 * count) {
      std::rotate(last.begin() + count, last.begin() + 2 * count, last.end());
    }
    return last;
  }
  // `t` with channels last: a copy, or `t` itself where nothing moves.
  StatusOr<Tensor> ToLast(KernelContext& ctx, const Tensor& t) const;

  // Allocates output `i`, whose shape is `last` once its channels are last. The kernel writes what it returns, then
  // calls Store().
  StatusOr<Tensor> AllocateOutput(KernelContext& ctx, int i, const Shape& last) const;
  // Brings `written`, which AllocateOutput() returned, to output `i`.
  void Store(KernelContext& ctx, int i, const Tensor& written) const;

 private:
  bool channels_first_ = false;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_IMAGE_LAYOUT_H_
