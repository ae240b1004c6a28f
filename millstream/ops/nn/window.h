// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_WINDOW_H_
#define MILLSTREAM_OPS_NN_WINDOW_H_

#include <string>
#include <vector>

#include "millstream/framework/attr_value.h"
#include "millstream/math/conv/conv.h"
#include "millstream/math/conv/pool.h"
#include "millstream/ops/nn/image_layout.h"

// Windows that slide over images: what convolutions and pools have in common.
namespace millstream {

enum class Padding { kValid, kSame, kExplicit };

// The attributes of a convolution or a pool, checked. Vectors of four are in the order of the data format. (Conv has
// five for volumes; what takes an axis works for those too.)
struct WindowAttrs {
  std::vector<int64_t> strides, dilations, window;  // `window` (ksize) of pools only, `dilations` 1 for them
  std::vector<int64_t> explicit_paddings;           // eight values with kExplicit, else none
  Padding padding = Padding::kValid;
  bool channels_first = false;

  // Reads those attributes that are there. InvalidArgument, or Unimplemented for windows that move over images or
  // dilations over channels.
  static StatusOr<WindowAttrs> Read(const AttrMap& attrs);
  // The checks of Read() on sizes and strides, for ops that get them as inputs.
  Status Check() const;

  // The same window over images with channels last.
  WindowAttrs ChannelsLast() const;

  int height_axis() const { return channels_first ? 2 : 1; }
  int width_axis() const { return channels_first ? 3 : 2; }
  int channel_axis() const { return channels_first ? 1 : 3; }
  int64_t pad_before(int axis) const { return padding == Padding::kExplicit ? explicit_paddings[2 * axis] : 0; }
  int64_t pad_after(int axis) const { return padding == Padding::kExplicit ? explicit_paddings[2 * axis + 1] : 0; }
};

// How a window lies over one dimension.
struct Placement {
  int64_t output = 0;  // number of positions
  int64_t before = 0;  // padding in front
};

// A window of `window` taps over dimension `axis` of size `input`. InvalidArgument if there is less than no position.
StatusOr<Placement> PlaceWindow(const WindowAttrs& attrs, int axis, int64_t input, int64_t window);
// The number of positions; -1 if that depends on a size that is not known (-1).
StatusOr<int64_t> OutputSize(const WindowAttrs& attrs, int axis, int64_t input, int64_t window);
// The same, but InvalidArgument for a window that is larger than what it slides over. Shape functions of convolutions
// and pools refuse it; their kernels take it for no position at all.
StatusOr<int64_t> OutputSizeIfItFits(const WindowAttrs& attrs, int axis, int64_t input, int64_t window);

// The sizes of a convolution of NHWC images by an HWIO filter. Input, output and channels may turn out empty, which
// routines of millstream/math do not take: look at the number of elements of the tensors first. `depthwise` filters are
// [H, W, C, multiplier].
StatusOr<math::ConvShape> MakeConvShape(const WindowAttrs& attrs, const Shape& input, const Shape& filter,
                                        bool depthwise);
// The output shape of a convolution or pool.
template <typename S>
StatusOr<Shape> OutputShape(const S& s, int64_t channels) {
  const int64_t dims[] = {s.batch, s.out_height, s.out_width, channels};
  return Shape::Make(dims);
}

// The sizes of a pool over NHWC images. Every window holds a pixel if input and output are not empty.
StatusOr<math::PoolShape> MakePoolShape(const WindowAttrs& attrs, const Shape& input);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_WINDOW_H_
