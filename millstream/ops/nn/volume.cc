// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/volume.h"

#include <algorithm>
#include <limits>

namespace millstream {
namespace {

// Positions of a window of `window` over `in`, and the padding in front; -1 positions if a size is not known.
Status Place(bool same, int64_t in, int64_t window, int64_t stride, int64_t* out, int64_t* before) {
  *out = -1;
  *before = 0;
  if (in < 0 || (window < 0 && !same)) return OkStatus();
  *out = same ? (in + stride - 1) / stride : (in - window + stride) / stride;
  if (*out < 0) {
    return errors::InvalidArgument("Computed output size would be negative: input ", in, ", window ", window);
  }
  if (same && window >= 0) *before = std::max<int64_t>((*out - 1) * stride + window - in, 0) / 2;
  return OkStatus();
}

// From the first tap of a window to the last; -1 if the size is not known.
StatusOr<int64_t> Reach(int64_t window, int64_t dilation) {
  if (window <= 0) return window;
  int64_t reach = 0;
  if (__builtin_mul_overflow(window - 1, dilation, &reach) || __builtin_add_overflow(reach, 1, &reach)) {
    return errors::InvalidArgument("Window too large: ", window, " taps, dilation ", dilation);
  }
  return reach;
}

Status ReadFive(const AttrMap& attrs, const char* name, const ImageLayout& layout, int64_t* out) {
  std::vector<int64_t> values;
  RETURN_IF_ERROR(attrs.Get(name, &values));
  if (values.size() != 5) return errors::InvalidArgument(name, " must have 5 elements");
  values = layout.ToLast(values);
  if ((values[0] != 1 || values[4] != 1) && attrs.Has("ksize")) {
    return errors::Unimplemented("Pooling is not yet supported on the batch and depth dimensions.");
  }
  if (values[0] != 1 || values[4] != 1) {
    return errors::InvalidArgument("Current implementation does not yet support ", name,
                                   " in the batch and depth dimensions.");
  }
  for (int d = 0; d < 3; ++d) {
    out[d] = values[d + 1];
    if (out[d] <= 0) return errors::InvalidArgument(name, " must be positive");
    if (out[d] > std::numeric_limits<int32_t>::max()) return errors::InvalidArgument(name, " too large: ", out[d]);
  }
  return OkStatus();
}

}  // namespace

Status VolumeAttrs::Read(const AttrMap& attrs, VolumeAttrs* out) {
  std::string padding, format = "NDHWC";
  RETURN_IF_ERROR(attrs.Get("padding", &padding));
  if (attrs.Has("data_format")) RETURN_IF_ERROR(attrs.Get("data_format", &format));
  out->same = padding == "SAME";
  out->layout = ImageLayout(format == "NCDHW");
  if (attrs.Has("ksize")) RETURN_IF_ERROR(ReadFive(attrs, "ksize", out->layout, out->window));
  if (attrs.Has("dilations")) RETURN_IF_ERROR(ReadFive(attrs, "dilations", out->layout, out->dilations));
  return ReadFive(attrs, "strides", out->layout, out->strides);
}

Status MakeVolumeWindow(const VolumeAttrs& attrs, const Dims& in, const int64_t window[3], VolumeWindow* out) {
  if (in.size() != 5) return errors::InvalidArgument("tensor_in must be 5-dimensional");
  for (int d = 0; d < 3; ++d) {
    out->in[d] = in[d + 1];
    out->window[d] = window[d];
    out->strides[d] = attrs.strides[d];
    out->dilations[d] = attrs.dilations[d];
    ASSIGN_OR_RETURN(const int64_t reach, Reach(window[d], attrs.dilations[d]));
    RETURN_IF_ERROR(Place(attrs.same, in[d + 1], reach, attrs.strides[d], &out->out[d], &out->before[d]));
  }
  return OkStatus();
}

Status MakeConvWindow(const VolumeAttrs& attrs, const Dims& in, const Dims& filter, VolumeWindow* out) {
  RETURN_IF_ERROR(MakeShape(in).status());
  RETURN_IF_ERROR(MakeShape(filter).status());
  if (in[4] != filter[3]) {
    return errors::InvalidArgument("Input depth ", in[4], " does not match that of the filter, ", filter[3]);
  }
  const int64_t window[3] = {filter[0], filter[1], filter[2]};
  return MakeVolumeWindow(attrs, in, window, out);
}

Status VolumeOutputShape(ShapeContext& c, const PartialShape& in, const PartialShape& window, int64_t channels,
                         bool channels_first) {
  std::vector<int64_t> strides;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (strides.size() != 5) return errors::InvalidArgument("strides must have 5 elements");
  std::vector<int64_t> dilations(5, 1);
  if (c.attrs().Has("dilations")) RETURN_IF_ERROR(c.GetAttr("dilations", &dilations));
  if (dilations.size() != 5) return errors::InvalidArgument("dilations must have 5 elements");
  const int first = channels_first ? 2 : 1;
  PartialShape out = in;
  for (int d = 0; d < 3; ++d) {
    int64_t size = 0, before = 0;
    if (strides[first + d] <= 0) return errors::InvalidArgument("strides must be positive");
    if (dilations[first + d] <= 0) return errors::InvalidArgument("dilations must be positive");
    ASSIGN_OR_RETURN(const int64_t reach, Reach(window.dim(d), dilations[first + d]));
    if (padding == "VALID" && in.dim(first + d) >= 0 && in.dim(first + d) < reach) {
      return errors::InvalidArgument("Negative dimension size caused by subtracting ", reach, " from ",
                                     in.dim(first + d));
    }
    RETURN_IF_ERROR(Place(padding == "SAME", in.dim(first + d), reach, strides[first + d], &size, &before));
    out.set_dim(first + d, size);
  }
  out.set_dim(channels_first ? 1 : 4, channels);
  c.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace millstream
