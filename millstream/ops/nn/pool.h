// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_POOL_H_
#define MILLSTREAM_OPS_NN_POOL_H_

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/nn/window.h"

namespace millstream {

// The part that kernels of pools share: window and strides, from attributes or from the last two inputs. They and all
// shapes here are for channels last.
class PoolKernel : public Kernel {
 protected:
  // `inputs`: the number of inputs before window and strides, where the node has those as inputs.
  PoolKernel(KernelInit& init, int inputs);

  const ImageLayout& layout() const { return layout_; }
  // The attributes of this run; they live in *own if they are inputs.
  StatusOr<const WindowAttrs*> Attrs(KernelContext& ctx, WindowAttrs* own) const;
  // The sizes for an input of that shape. Unimplemented if the window spans channels; strides over them count for
  // nothing.
  StatusOr<math::PoolShape> Sizes(KernelContext& ctx, const Shape& input) const;
  // The sizes for a pool of maxima, whose window may span channels, and the shape of its output. Over groups of
  // channels images become [1, pixels, channels, 1], and out_width the new number of channels. InvalidArgument unless
  // they are images; Unimplemented for windows that CheckDepthWindow refuses.
  StatusOr<math::PoolShape> MaxSizes(KernelContext& ctx, const Shape& input, Shape* output) const;

 private:
  WindowAttrs attrs_;
  ImageLayout layout_;
  int sizes_at_ = -1;
};

// Output 0 of a pool over input 0; window and strides are attributes, or constants among the inputs from `sizes_at` on.
Status PoolShapeFn(ShapeContext& c);
// The same for pools that keep the channels whatever their window says.
Status FlatPoolShapeFn(ShapeContext& c);
Status PoolV2ShapeFn(ShapeContext& c, int sizes_at);
// Output 0 has the shape of input 0, of rank 4.
Status UnchangedImages(ShapeContext& c);

// Unimplemented unless a window over `channels` channels cuts them into whole groups, one pixel at a time.
Status CheckDepthWindow(const WindowAttrs& a, int64_t channels);

// InvalidArgument unless `shape` is what the pool gives.
Status CheckPooled(absl::string_view what, const math::PoolShape& s, const Shape& shape);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_POOL_H_
