// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_VOLUME_H_
#define MILLSTREAM_OPS_NN_VOLUME_H_

#include "millstream/framework/attr_value.h"
#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/nn/image_layout.h"

namespace millstream {

// The attributes of convolutions and pools over volumes; sizes are those of depth, height and width.
struct VolumeAttrs {
  int64_t window[3] = {1, 1, 1};  // of pools
  int64_t strides[3] = {1, 1, 1};
  int64_t dilations[3] = {1, 1, 1};  // of convolutions
  bool same = false;
  ImageLayout layout;

  // InvalidArgument or Unimplemented if they are not ours: windows across channels.
  static Status Read(const AttrMap& attrs, VolumeAttrs* out);
};

// A window that slides over a volume.
struct VolumeWindow {
  int64_t in[3], window[3], strides[3], out[3], before[3];
  int64_t dilations[3] = {1, 1, 1};

  int64_t taps() const { return window[0] * window[1] * window[2]; }
  int64_t positions() const { return out[0] * out[1] * out[2]; }
  int64_t size() const { return in[0] * in[1] * in[2]; }

  // Calls visit(position, tap, place of the voxel); the place is -1 in the padding.
  template <typename Visit>
  void ForEachTap(Visit visit) const {
    for (int64_t p = 0; p < positions(); ++p) {
      const int64_t z = p / (out[1] * out[2]) * strides[0] - before[0];
      const int64_t y = p / out[2] % out[1] * strides[1] - before[1], x = p % out[2] * strides[2] - before[2];
      int64_t tap = 0;
      for (int64_t a = z; a < z + window[0] * dilations[0]; a += dilations[0]) {
        for (int64_t b = y; b < y + window[1] * dilations[1]; b += dilations[1]) {
          for (int64_t c = x; c < x + window[2] * dilations[2]; c += dilations[2], ++tap) {
            const bool inside = a >= 0 && a < in[0] && b >= 0 && b < in[1] && c >= 0 && c < in[2];
            visit(p, tap, inside ? (a * in[1] + b) * in[2] + c : -1);
          }
        }
      }
    }
  }
};

// InvalidArgument if the window does not fit the volumes, [batch, depth, height, width, channels].
Status MakeVolumeWindow(const VolumeAttrs& attrs, const Dims& in, const int64_t window[3], VolumeWindow* out);
// The same for a filter [depth, height, width, in channels, out channels].
Status MakeConvWindow(const VolumeAttrs& attrs, const Dims& in, const Dims& filter, VolumeWindow* out);

// Volumes convolved with a filter, of a type among FloatTypes. REQUIRES: `v` and `out` fit them.
Status ConvolveVolumes(KernelContext& ctx, const VolumeWindow& v, const Tensor& input, const Tensor& filter,
                       Tensor* out);

// Output 0 of a convolution or pool with windows of the first three sizes of `window`.
Status VolumeOutputShape(ShapeContext& c, const PartialShape& in, const PartialShape& window, int64_t channels,
                         bool channels_first);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_VOLUME_H_
