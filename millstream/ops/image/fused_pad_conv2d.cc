// SPDX-License-Identifier: Apache-2.0
// Convolutions with what mobile graphs have before them: a resize, and borders that mirror the image. As in
// TensorFlow's kernels a window that leaves pixels over lies in their middle, also with padding VALID. (TensorFlow 2.21
// gives every image of a batch the result of the first one; here each has its own.)
#include <algorithm>
#include <cmath>
#include <span>

#include "millstream/ops/array/paddings.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/image/taps.h"
#include "millstream/ops/nn/conv2d.h"

namespace millstream {
namespace {

StatusOr<WindowAttrs> ReadFusedAttrs(const AttrMap& attrs) {
  std::vector<int64_t> strides;
  RETURN_IF_ERROR(attrs.Get("strides", &strides));
  if (strides.size() == 4 && (strides[0] != 1 || strides[3] != 1)) {
    return errors::InvalidArgument(
        "Current implementation does not yet support strides in the batch and depth dimensions.");
  }
  return WindowAttrs::Read(attrs);
}

// Where a pixel of a resized and mirrored axis lies in the image: between `low` and `high`, `part` of the way.
struct MirroredPixel {
  int64_t low, high;
  float part;
};
using MirroredAxis = std::span<const MirroredPixel>;

struct AxisSizes {
  int64_t in, resized, before, padded;
  int64_t skipped;  // pixels at the front of the padded axis that no window covers
};

void MirrorAxis(const AxisSizes& s, float scale, int offset, MirroredPixel* pixel) {
  for (int64_t i = s.skipped; i < s.padded; ++i) {
    int64_t at = i - s.before;
    if (at < 0)
      at = -(at + 1 - offset);
    else if (at >= s.resized)
      at = 2 * s.resized - (at + 1 + offset);
    const float position = static_cast<float>(at) * scale, below = std::floor(position);
    const int64_t low = std::clamp<int64_t>(static_cast<int64_t>(below), 0, s.in - 1);
    const int64_t high = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(position)), low, s.in - 1);
    *pixel++ = {low, high, position - below};
  }
}

// One row of the resized and mirrored image from two rows of the image.
template <typename T>
void MirrorRow(const T* top, const T* bottom, float y_part, MirroredAxis x, int64_t channels, T* to) {
  const T down = static_cast<T>(y_part);
  for (const MirroredPixel& p : x) {
    const T right = static_cast<T>(p.part);
    const int64_t a = p.low * channels, b = p.high * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const T above = top[a + c] + (top[b + c] - top[a + c]) * right;
      const T below = bottom[a + c] + (bottom[b + c] - bottom[a + c]) * right;
      *to++ = above + (below - above) * down;
    }
  }
}

template <typename T>
void MirrorImages(KernelContext& ctx, const Tensor& images, MirroredAxis y, MirroredAxis x, Tensor* out) {
  const int64_t channels = images.dim(3), row = images.dim(2) * channels;
  const auto height = static_cast<int64_t>(y.size());
  const int64_t out_row = static_cast<int64_t>(x.size()) * channels;
  ctx.ParallelFor(images.dim(0) * height, 2.0 * static_cast<double>(out_row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* image = images.data<T>() + i / height * images.dim(1) * row;
      const MirroredPixel& p = y[static_cast<size_t>(i % height)];
      MirrorRow(image + p.low * row, image + p.high * row, p.part, x, channels, out->data<T>() + i * out_row);
    }
  });
}

// Pixels in front of the axis that the first window covers; negative if it begins after the first pixel.
int64_t WindowOverhang(Padding padding, int64_t positions, int64_t stride, int64_t window, int64_t padded) {
  return ((positions - 1) * stride + window - padded + (padding == Padding::kValid ? 1 : 0)) / 2;
}

class FusedPadConv : public Kernel {
 public:
  FusedPadConv(KernelInit& init, bool resize)
      : resize_(resize), offset_(init.Attr<std::string>("mode") == "REFLECT" ? 1 : 0) {
    if (resize) options_.align_corners = init.Attr<bool>("resize_align_corners");
    StatusOr<WindowAttrs> attrs = ReadFusedAttrs(init.attrs());
    init.Check(attrs.status());
    if (attrs.ok()) attrs_ = *std::move(attrs);
  }

  Status Compute(KernelContext& ctx) final {
    const Tensor &images = ctx.input(0), &filter = ctx.input(resize_ ? 3 : 2);
    if (images.num_elements() == 0) return errors::InvalidArgument("Input tensor can't be empty");
    ASSIGN_OR_RETURN(const ImageShape in, ReadImages(images, "input"));
    int64_t height = in.height, width = in.width;
    if (resize_) RETURN_IF_ERROR(ReadImageSize(ctx.input(1), &height, &width));
    const int64_t resized_dims[] = {in.batch, height, width, in.channels};
    ASSIGN_OR_RETURN(const Shape resized, Shape::Make(resized_dims));
    Paddings paddings;
    RETURN_IF_ERROR(ReadFusedPaddings(ctx.input(resize_ ? 2 : 1), resized, &paddings));
    ASSIGN_OR_RETURN(const Shape padded, PaddedShape(resized, paddings));
    if (filter.rank() == 4 && filter.dim(2) != in.channels) {
      return errors::InvalidArgument("input and filter must have the same depth: ", in.channels, " vs ", filter.dim(2));
    }
    ASSIGN_OR_RETURN(math::ConvShape s, MakeConvShape(attrs_, padded, filter.shape(), false));
    ASSIGN_OR_RETURN(const Shape out_shape, OutputShape(s, s.out_channels));
    if (out_shape.num_elements() == 0) return errors::InvalidArgument("Output tensor can't be empty");
    const int64_t top = WindowOverhang(attrs_.padding, s.out_height, s.stride_height, s.filter_height, s.in_height);
    const int64_t left = WindowOverhang(attrs_.padding, s.out_width, s.stride_width, s.filter_width, s.in_width);
    const AxisSizes y{in.height, height, paddings.before[1], padded.dim(1), std::max<int64_t>(0, -top)};
    const AxisSizes x{in.width, width, paddings.before[2], padded.dim(2), std::max<int64_t>(0, -left)};
    s.in_height -= y.skipped, s.in_width -= x.skipped;
    s.pad_top = std::max<int64_t>(0, top), s.pad_left = std::max<int64_t>(0, left);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, out_shape));
    ASSIGN_OR_RETURN(const Tensor mirrored, Mirror(ctx, images, s, y, x));
    return Convolve(ctx, {s}, mirrored, filter, out);
  }

 private:
  Status ReadFusedPaddings(const Tensor& t, const Shape& resized, Paddings* out) const {
    RETURN_IF_ERROR(ReadPaddings(t, resized.rank(), out));
    for (int d = 0; d < resized.rank(); ++d) {
      const int64_t before = out->before[d], after = out->after[d];
      if (std::max(before, after) > resized.dim(d) - offset_) {
        return errors::InvalidArgument("paddings must be ", offset_ == 0 ? "no greater" : "less",
                                       " than the dimension size: ", before, ", ", after,
                                       offset_ == 0 ? " greater than " : " not less than ", resized.dim(d));
      }
      if ((d == 0 || d == 3) && (before != 0 || after != 0)) {
        return errors::InvalidArgument("Fused mirror padding only support spatial padding, not ",
                                       d == 0 ? "batches" : "channels");
      }
    }
    return OkStatus();
  }

  // What the windows slide over, in float or double.
  StatusOr<Tensor> Mirror(KernelContext& ctx, const Tensor& images, const math::ConvShape& s, const AxisSizes& y,
                          const AxisSizes& x) const {
    const int64_t dims[] = {s.batch, s.in_height, s.in_width, s.in_channels};
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(const Tensor from, AsFloat(ctx, images));
    ASSIGN_OR_RETURN(Tensor to, ctx.AllocateTemp(from.dtype(), shape));
    // The sizes are not trusted: the tables are memory like that of tensors.
    ASSIGN_OR_RETURN(Tensor y_table, AllocateRecords<MirroredPixel>(ctx, s.in_height));
    ASSIGN_OR_RETURN(Tensor x_table, AllocateRecords<MirroredPixel>(ctx, s.in_width));
    MirrorAxis(y, ScaleOf(options_, y.in, y.resized), offset_, Records<MirroredPixel>(&y_table));
    MirrorAxis(x, ScaleOf(options_, x.in, x.resized), offset_, Records<MirroredPixel>(&x_table));
    const MirroredAxis rows(Records<MirroredPixel>(&y_table), static_cast<size_t>(s.in_height));
    const MirroredAxis columns(Records<MirroredPixel>(&x_table), static_cast<size_t>(s.in_width));
    if (from.dtype() == DType::kFloat)
      MirrorImages<float>(ctx, from, rows, columns, &to);
    else
      MirrorImages<double>(ctx, from, rows, columns, &to);
    return to;
  }

  const bool resize_;
  const int offset_;
  ResizeOptions options_{Interpolation::kBilinear};
  WindowAttrs attrs_;
};

template <bool resize>
class FusedPadConvOp final : public FusedPadConv {
 public:
  explicit FusedPadConvOp(KernelInit& init) : FusedPadConv(init, resize) {}
};

// `image` with the paddings of input i, as far as they are known.
Status PadImageShape(const ShapeContext& c, int i, PartialShape* image) {
  PartialShape matrix;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 2, &matrix));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(matrix.dim(0), 4, &unused));
  RETURN_IF_ERROR(ShapeContext::MergeDim(matrix.dim(1), 2, &unused));
  if (c.constant(i) == nullptr) {
    *image = PartialShape::UnknownOfRank(4);
    return OkStatus();
  }
  Paddings paddings;
  RETURN_IF_ERROR(ReadPaddings(*c.constant(i), 4, &paddings));
  for (int d = 0; d < 4; ++d) {
    if (image->dim(d) >= 0) image->set_dim(d, image->dim(d) + paddings.before[d] + paddings.after[d]);
  }
  return OkStatus();
}

Status FusedConvShape(ShapeContext& c, bool resize) {
  PartialShape image, filter;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &image));
  if (resize) {
    RETURN_IF_ERROR(ResizeShape(c));
    image = c.output(0);
  }
  RETURN_IF_ERROR(PadImageShape(c, resize ? 2 : 1, &image));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(resize ? 3 : 2), 4, &filter));
  ASSIGN_OR_RETURN(const WindowAttrs a, ReadFusedAttrs(c.attrs()));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(image.dim(3), filter.dim(2), &unused));
  ASSIGN_OR_RETURN(const int64_t height, OutputSizeIfItFits(a, 1, image.dim(1), filter.dim(0)));
  ASSIGN_OR_RETURN(const int64_t width, OutputSizeIfItFits(a, 2, image.dim(2), filter.dim(1)));
  c.set_output(0, PartialShape({image.dim(0), height, width, filter.dim(3)}));
  return OkStatus();
}
Status FusedPadConvShape(ShapeContext& c) { return FusedConvShape(c, false); }
Status FusedResizeConvShape(ShapeContext& c) { return FusedConvShape(c, true); }

OP("FusedResizeAndPadConv2D")
    .Input("input: T")
    .Input("size: int32")
    .Input("paddings: int32")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, float, double}")
    .Attr("resize_align_corners: bool = false")
    .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID'}")
    .Shape(FusedResizeConvShape)
    .CpuFor<FusedPadConvOp<true>>(Types<Half, float, double>{})
    .Expensive()
    .HostMemory("size")
    .HostMemory("paddings")
    .Doc("ResizeBilinear, MirrorPad and Conv2D in one.");

OP("FusedPadConv2D")
    .Input("input: T")
    .Input("paddings: int32")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
    .Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID'}")
    .Shape(FusedPadConvShape)
    .CpuFor<FusedPadConvOp<false>>(FloatTypes{})
    .Expensive()
    .HostMemory("paddings")
    .Doc("MirrorPad and Conv2D in one.");

}  // namespace
}  // namespace millstream
