// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/kernels/nn/pool_geometry.h"

#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

StatusOr<std::vector<int64_t>> ReadFour(const Tensor& t, absl::string_view what) {
  Dims dims;
  RETURN_IF_ERROR(ReadInts(t, &dims));
  if (dims.size() != 4) {
    return errors::InvalidArgument("Sliding window ", what, " field must specify 4 dimensions, got ", dims.size());
  }
  return std::vector<int64_t>(dims.begin(), dims.end());
}

}  // namespace

PoolKernel::PoolKernel(KernelInit& init, int inputs) {
  StatusOr<WindowAttrs> attrs = WindowAttrs::Read(init.attrs());
  init.Check(attrs.status());
  if (attrs.ok()) attrs_ = *std::move(attrs);
  if (!init.HasAttr("ksize")) sizes_at_ = inputs;
}

StatusOr<WindowAttrs> PoolKernel::Attrs(const Call& call) const {
  WindowAttrs a = attrs_;
  if (sizes_at_ >= 0) {
    ASSIGN_OR_RETURN(a.window, ReadFour(call.input(sizes_at_), "ksize"));
    ASSIGN_OR_RETURN(a.strides, ReadFour(call.input(sizes_at_ + 1), "strides"));
    RETURN_IF_ERROR(a.Check());
  }
  return a;
}

Status PoolKernel::CheckNoDepth(const Call& call, absl::string_view message) const {
  ASSIGN_OR_RETURN(const WindowAttrs a, Attrs(call));
  const int c = a.channel_axis();
  return a.window[c] == 1 && a.strides[c] == 1 ? OkStatus() : errors::Unimplemented(message);
}

StatusOr<PoolGeometry> PoolKernel::Geometry(const Call& call, const Shape& input) const {
  ASSIGN_OR_RETURN(const WindowAttrs a, Attrs(call));
  if (input.rank() != 4) return errors::InvalidArgument("tensor_in must be 4-dimensional: ", input.ToString());
  const int h = a.height_axis(), w = a.width_axis(), c = a.channel_axis();
  if (a.window[c] != 1) return errors::Unimplemented("Non-spatial pooling is not yet supported.");
  for (const int axis : {h, w}) {
    if (a.pad_before(axis) >= a.window[axis] || a.pad_after(axis) >= a.window[axis]) {
      if (a.padding == Padding::kExplicit) {
        return errors::InvalidArgument("explicit paddings must be smaller than the window: ", a.pad_before(axis), ", ",
                                       a.pad_after(axis), " with a window of ", a.window[axis]);
      }
    }
  }
  ASSIGN_OR_RETURN(const Placement y, PlaceWindow(a, h, input.dim(h), a.window[h]));
  ASSIGN_OR_RETURN(const Placement x, PlaceWindow(a, w, input.dim(w), a.window[w]));
  PoolGeometry g = {input.dim(0), input.dim(c), input.dim(h), input.dim(w), y.output, x.output,        a.window[h],
                    a.window[w],  a.strides[h], a.strides[w], y.before,     x.before, a.channels_first};
  if (g.inputs() == 0 && g.outputs() > 0) {
    return errors::InvalidArgument("Pooling of an empty image with padding: ", input.ToString());
  }
  return g;
}

StatusOr<Shape> PoolKernel::PooledShape(const PoolGeometry& g) const {
  const int64_t last[] = {g.batch, g.out_height, g.out_width, g.channels};
  const int64_t first[] = {g.batch, g.channels, g.out_height, g.out_width};
  return Shape::Make(g.channels_first ? first : last);
}

Status PoolKernel::CheckPooledShape(absl::string_view what, const PoolGeometry& g, const Shape& shape) const {
  ASSIGN_OR_RETURN(const Shape expected, PooledShape(g));
  if (shape == expected) return OkStatus();
  return errors::InvalidArgument("Expected ", what, " shape to be ", expected.ToString(), ", but got ",
                                 shape.ToString());
}

}  // namespace millstream::cuda
