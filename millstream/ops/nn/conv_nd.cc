// SPDX-License-Identifier: Apache-2.0
// Convolution of images or volumes, which may have several batch dimensions.
#include <algorithm>

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/nn/conv2d.h"
#include "millstream/ops/nn/volume.h"

namespace millstream {
namespace {

Status CheckSteps(absl::string_view what, const std::vector<int64_t>& steps, int channel_axis) {
  if (steps[0] != 1 || steps[channel_axis] != 1) {
    return errors::InvalidArgument("Current implementation does not support ", what,
                                   " in the batch and depth dimensions.");
  }
  for (const int64_t step : steps) {
    if (step < 1 || step > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("Spatial ", what, " should be larger than 0.");
    }
  }
  return OkStatus();
}

Status CheckPaddings(const WindowAttrs& a, size_t rank) {
  const std::vector<int64_t>& p = a.explicit_paddings;
  if (a.padding != Padding::kExplicit) {
    if (p.empty()) return OkStatus();
    return errors::InvalidArgument(
        "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
  }
  if (p.size() != 2 * rank) {
    return errors::InvalidArgument("explicit_paddings attribute must contain ", 2 * rank,
                                   " values, but got: ", p.size());
  }
  for (size_t i = 0; i < p.size(); ++i) {
    const bool spatial = i / 2 != 0 && i / 2 != (a.channels_first ? 1 : rank - 1);
    if (!spatial && p[i] != 0) {
      return errors::InvalidArgument("Nonzero explicit padding in the batch or depth dimensions is not supported");
    }
    if (p[i] < 0 || p[i] > std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("All elements of explicit_paddings must be nonnegative");
    }
  }
  return OkStatus();
}

// The attributes, with vectors of four elements for images and five for volumes.
StatusOr<WindowAttrs> ReadAttrs(const AttrMap& attrs) {
  WindowAttrs a;
  std::string padding, format;
  RETURN_IF_ERROR(attrs.Get("strides", &a.strides));
  RETURN_IF_ERROR(attrs.Get("dilations", &a.dilations));
  RETURN_IF_ERROR(attrs.Get("explicit_paddings", &a.explicit_paddings));
  RETURN_IF_ERROR(attrs.Get("padding", &padding));
  RETURN_IF_ERROR(attrs.Get("data_format", &format));
  const size_t rank = a.strides.size();
  if (rank != 4 && rank != 5) {
    return errors::InvalidArgument("Sliding window strides field must specify 4 or 5 dimensions, got ", rank);
  }
  if (a.dilations.empty()) a.dilations.assign(rank, 1);
  if (a.dilations.size() != rank) {
    return errors::InvalidArgument("Dilation rates field must specify ", rank, " dimensions, got ", a.dilations.size());
  }
  a.channels_first = format == "CHANNELS_FIRST";
  a.padding = padding == "SAME" ? Padding::kSame : padding == "EXPLICIT" ? Padding::kExplicit : Padding::kValid;
  const int channels = a.channels_first ? 1 : static_cast<int>(rank) - 1;
  RETURN_IF_ERROR(CheckSteps("strides", a.strides, channels));
  RETURN_IF_ERROR(CheckSteps("dilation rates", a.dilations, channels));
  RETURN_IF_ERROR(CheckPaddings(a, rank));
  return a;
}

class ConvNd final : public Kernel {
 public:
  explicit ConvNd(KernelInit& init) : batch_dims_(init.Attr<int64_t>("batch_dims")) {
    StatusOr<WindowAttrs> attrs = ReadAttrs(init.attrs());
    init.Check(attrs.status());
    if (init.Attr<int64_t>("groups") != 1) {
      init.Fail(errors::Unimplemented("Grouped/Depthwise Convolutions are not supported yet."));
    }
    if (attrs.ok()) attrs_ = *std::move(attrs);
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    const int64_t rank = static_cast<int64_t>(attrs_.strides.size()), spatial = input.rank() - 1 - batch_dims_;
    if (batch_dims_ < 0 || spatial != rank - 2) {
      return errors::InvalidArgument("The input must have 2 or 3 spatial dimensions but got ", spatial,
                                     "; strides are for ", rank - 2);
    }
    if (filter.rank() != rank) {
      return errors::InvalidArgument("The filter must be rank ", rank, " but got ", filter.rank());
    }
    if (filter.num_elements() == 0) {
      return errors::InvalidArgument("filter must not have zero elements (i.e. all dimensions must be non-zero)");
    }
    Dims flat = {input.shape().Product(0, static_cast<int>(batch_dims_))};
    flat.insert(flat.end(), input.shape().dims().begin() + batch_dims_, input.shape().dims().end());
    const int channel_axis = attrs_.channels_first ? 1 : static_cast<int>(rank) - 1;
    if (flat[channel_axis] != filter.dim(static_cast<int>(spatial))) {
      return errors::InvalidArgument("Input depth must be equal to filter depth: ", flat[channel_axis], " vs ",
                                     filter.dim(static_cast<int>(spatial)));
    }
    if (attrs_.channels_first) {
      return errors::Unimplemented("The Conv op currently only supports the NHWC tensor format on the CPU");
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(flat));
    const Tensor images = input.Reshaped(shape);
    return spatial == 2 ? Images(ctx, images, filter) : Volumes(ctx, images, filter);
  }

 private:
  // Output 0 with the batch dimensions of the input, as images of one batch dimension.
  StatusOr<Tensor> Allocate(KernelContext& ctx, const Shape& flat) const {
    const std::span<const int64_t> in = ctx.input(0).shape().dims();
    Dims dims(in.begin(), in.begin() + batch_dims_);
    dims.insert(dims.end(), flat.dims().begin() + 1, flat.dims().end());
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return out->Reshaped(flat);
  }

  Status Images(KernelContext& ctx, const Tensor& images, const Tensor& filter) const {
    Convolution c;
    ASSIGN_OR_RETURN(c.shape, MakeConvShape(attrs_, images.shape(), filter.shape(), false));
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(c.shape, c.shape.out_channels));
    ASSIGN_OR_RETURN(Tensor out, Allocate(ctx, shape));
    return Convolve(ctx, c, images, filter, &out);
  }

  Status Volumes(KernelContext& ctx, const Tensor& volumes, const Tensor& filter) const {
    if (volumes.dtype() == DType::kInt32) return errors::Unimplemented("Convolution of volumes of int32");
    VolumeWindow v;
    for (int d = 0; d < 3; ++d) {
      ASSIGN_OR_RETURN(const Placement p, PlaceWindow(attrs_, d + 1, volumes.dim(d + 1), filter.dim(d)));
      v.in[d] = volumes.dim(d + 1), v.window[d] = filter.dim(d), v.strides[d] = attrs_.strides[d + 1];
      v.out[d] = p.output, v.before[d] = p.before, v.dilations[d] = attrs_.dilations[d + 1];
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape({volumes.dim(0), v.out[0], v.out[1], v.out[2], filter.dim(4)}));
    ASSIGN_OR_RETURN(Tensor out, Allocate(ctx, shape));
    return ConvolveVolumes(ctx, v, volumes, filter, &out);
  }

  const int64_t batch_dims_;
  WindowAttrs attrs_;
};

Status CheckGroups(const ShapeContext& c, int64_t in_depth, int64_t out_depth) {
  int64_t groups = 1;
  RETURN_IF_ERROR(c.GetAttr("groups", &groups));
  if (groups < 1) return errors::InvalidArgument("Groups attribute should be a positive integer");
  if (in_depth >= 0 && in_depth % groups != 0) {
    return errors::InvalidArgument("Number of groups should divide input depth");
  }
  if (out_depth >= 0 && out_depth % groups != 0) {
    return errors::InvalidArgument("Number of groups should divide output depth");
  }
  return OkStatus();
}

Status ConvNdShape(ShapeContext& c) {
  const PartialShape &input = c.input(0), &filter = c.input(1);
  int64_t batch_dims = 1;
  RETURN_IF_ERROR(c.GetAttr("batch_dims", &batch_dims));
  if (batch_dims < 0) return errors::InvalidArgument("Batch dims must be non-negative.");
  if (!input.rank_known() || !filter.rank_known()) return OkStatus();
  const int64_t rank = input.rank() - (batch_dims - 1);
  if (rank != 4 && rank != 5) {
    return errors::InvalidArgument("Input tensor must be rank 4 or 5, excluding extra batch dimensions, but got: ",
                                   rank);
  }
  if (filter.rank() != rank) return errors::InvalidArgument("Input tensor rank must be the same as filter rank.");
  ASSIGN_OR_RETURN(const WindowAttrs a, ReadAttrs(c.attrs()));
  if (static_cast<int64_t>(a.strides.size()) != rank) {
    return errors::InvalidArgument("Stride attribute should contain ", rank, " values, but got: ", a.strides.size());
  }
  const int more = static_cast<int>(batch_dims) - 1, spatial = static_cast<int>(rank) - 2;
  const int first = a.channels_first ? 2 : 1, channels = a.channels_first ? 1 : spatial + 1;
  PartialShape out = input;
  for (int d = 0; d < spatial; ++d) {
    ASSIGN_OR_RETURN(const int64_t size, OutputSizeIfItFits(a, first + d, input.dim(more + first + d), filter.dim(d)));
    out.set_dim(more + first + d, size);
  }
  const int64_t depth = input.dim(more + channels), filter_depth = filter.dim(spatial);
  RETURN_IF_ERROR(CheckGroups(c, depth, filter.dim(spatial + 1)));
  if (filter_depth == 0) return errors::InvalidArgument("Depth of filter must not be 0");
  if (depth >= 0 && filter_depth > 0 && depth % filter_depth != 0) {
    return errors::InvalidArgument("Depth of input (", depth, ") is not a multiple of input depth of filter (",
                                   filter_depth, ")");
  }
  out.set_dim(more + channels, filter.dim(spatial + 1));
  c.set_output(0, std::move(out));
  return OkStatus();
}

OP("Conv")
    .Input("input: T")
    .Input("filter: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, int32}")
    .Attr("strides: list(int)")
    .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'")
    .Attr("dilations: list(int) = []")
    .Attr("batch_dims: int = 1")
    .Attr("groups: int = 1")
    .Shape(ConvNdShape)
    .CpuFor<ConvNd>(Join<FloatTypes, Types<int32_t>>{})
    .Expensive()
    .Doc("Convolves images or volumes, which may have several batch dimensions, with a filter.");

}  // namespace
}  // namespace millstream
