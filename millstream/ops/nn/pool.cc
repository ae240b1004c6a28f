// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/pool.h"

#include "millstream/ops/elements/axes.h"

namespace millstream {
namespace {

StatusOr<std::vector<int64_t>> ReadFour(const Tensor& t, absl::string_view what) {
  Dims dims;
  RETURN_IF_ERROR(ReadInts(t, &dims));
  if (dims.size() != 4) {
    return errors::InvalidArgument("Sliding window ", what, " field must specify 4 dimensions, got ", dims.size());
  }
  return std::vector<int64_t>(dims.begin(), dims.end());
}

Status PooledShape(ShapeContext& c, const WindowAttrs& a) {
  PartialShape input;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &input));
  PartialShape out = input;
  for (int axis = 1; axis < 4; ++axis) {
    // Explicit padding is for height and width only.
    ASSIGN_OR_RETURN(const int64_t size, OutputSizeIfItFits(a, axis, input.dim(axis), a.window[axis]));
    out.set_dim(axis, size);
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

PoolKernel::PoolKernel(KernelInit& init, int inputs) {
  StatusOr<WindowAttrs> attrs = WindowAttrs::Read(init.attrs());
  init.Check(attrs.status());
  if (!attrs.ok()) return;
  attrs_ = attrs->ChannelsLast();
  layout_ = ImageLayout(attrs->channels_first);
  if (!init.HasAttr("ksize")) sizes_at_ = inputs;
}

StatusOr<const WindowAttrs*> PoolKernel::Attrs(KernelContext& ctx, WindowAttrs* own) const {
  if (sizes_at_ < 0) return &attrs_;
  *own = attrs_;
  ASSIGN_OR_RETURN(own->window, ReadFour(ctx.input(sizes_at_), "ksize"));
  ASSIGN_OR_RETURN(own->strides, ReadFour(ctx.input(sizes_at_ + 1), "strides"));
  own->window = layout_.ToLast(own->window);
  own->strides = layout_.ToLast(own->strides);
  RETURN_IF_ERROR(own->Check());
  return own;
}

StatusOr<math::PoolShape> PoolKernel::Sizes(KernelContext& ctx, const Shape& input) const {
  WindowAttrs own;
  ASSIGN_OR_RETURN(const WindowAttrs* attrs, Attrs(ctx, &own));
  if (attrs->window[3] != 1) return errors::Unimplemented("Non-spatial pooling is not yet supported. Volunteers? :)");
  return MakePoolShape(*attrs, input);
}

Status PoolShapeFn(ShapeContext& c) {
  ASSIGN_OR_RETURN(const WindowAttrs a, WindowAttrs::Read(c.attrs()));
  return PooledShape(c, a);
}

Status FlatPoolShapeFn(ShapeContext& c) {
  ASSIGN_OR_RETURN(WindowAttrs a, WindowAttrs::Read(c.attrs()));
  a.window[a.channel_axis()] = a.strides[a.channel_axis()] = 1;
  return PooledShape(c, a);
}

Status PoolV2ShapeFn(ShapeContext& c, int sizes_at) {
  ASSIGN_OR_RETURN(WindowAttrs a, WindowAttrs::Read(c.attrs()));
  const Tensor *window = c.constant(sizes_at), *strides = c.constant(sizes_at + 1);
  for (const int i : {sizes_at, sizes_at + 1}) {
    PartialShape sizes;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &sizes));
    int64_t four = 4;
    RETURN_IF_ERROR(ShapeContext::MergeDim(sizes.dim(0), four, &four));
  }
  PartialShape input;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &input));
  if (window == nullptr || strides == nullptr) {
    c.set_output(0, PartialShape::UnknownOfRank(4));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(a.window, ReadFour(*window, "ksize"));
  ASSIGN_OR_RETURN(a.strides, ReadFour(*strides, "strides"));
  RETURN_IF_ERROR(a.Check());
  return PooledShape(c, a);
}

Status UnchangedImages(ShapeContext& c) {
  PartialShape images;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &images));
  c.set_output(0, std::move(images));
  return OkStatus();
}

Status CheckDepthWindow(const WindowAttrs& a, int64_t channels) {
  if (a.window[1] != 1 || a.window[2] != 1) {
    return errors::Unimplemented(
        "MaxPooling supports exactly one of pooling across depth or pooling across "
        "width/height.");
  }
  if (a.padding == Padding::kExplicit) {
    return errors::Unimplemented("Depthwise max pooling does not support explicit padding.");
  }
  if (channels % a.window[3] != 0) {
    return errors::Unimplemented("Depthwise max pooling requires the depth window to evenly divide the input depth");
  }
  if (a.strides[3] != a.window[3]) {
    return errors::Unimplemented("Depthwise max pooling requires the depth window to equal the depth stride");
  }
  return OkStatus();
}

StatusOr<math::PoolShape> PoolKernel::MaxSizes(KernelContext& ctx, const Shape& input, Shape* output) const {
  WindowAttrs own;
  ASSIGN_OR_RETURN(const WindowAttrs* attrs, Attrs(ctx, &own));
  const int64_t group = attrs->window[3];
  math::PoolShape s;
  if (group == 1) {
    ASSIGN_OR_RETURN(s, Sizes(ctx, input));
    ASSIGN_OR_RETURN(*output, OutputShape(s, s.channels));
    return s;
  }
  if (input.rank() != 4) return errors::InvalidArgument("tensor_in must be 4-dimensional: ", input.ToString());
  RETURN_IF_ERROR(CheckDepthWindow(*attrs, input.dim(3)));
  s.in_height = s.out_height = input.Product(0, 3);
  s.in_width = input.dim(3), s.out_width = input.dim(3) / group;
  s.window_width = s.stride_width = group;
  *output = input;
  output->set_dim(3, s.out_width);
  return s;
}

Status CheckPooled(absl::string_view what, const math::PoolShape& s, const Shape& shape) {
  ASSIGN_OR_RETURN(const Shape expected, OutputShape(s, s.channels));
  if (shape == expected) return OkStatus();
  return errors::InvalidArgument("Expected ", what, " shape to be ", expected.ToString(), ", but got ",
                                 shape.ToString());
}

}  // namespace millstream
