// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/window.h"

#include <algorithm>
#include <limits>

namespace millstream {
namespace {

// Sizes up to this keep all products of two in range.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

template <typename T>
Status GetIfThere(const AttrMap& attrs, absl::string_view name, T* value) {
  return attrs.Has(name) ? attrs.Get(name, value) : OkStatus();
}

Status CheckFour(absl::string_view what, const std::vector<int64_t>& values) {
  if (values.size() != 4) {
    return errors::InvalidArgument("Sliding window ", what, " field must specify 4 dimensions, got ", values.size());
  }
  for (const int64_t v : values) {
    if (v < 1 || v > kMaxSize) {
      return errors::InvalidArgument(what, " must be a positive int32 value, got:", v);
    }
  }
  return OkStatus();
}

Status CheckPadding(const WindowAttrs& a) {
  if (a.padding != Padding::kExplicit) {
    if (a.explicit_paddings.empty()) return OkStatus();
    return errors::InvalidArgument(
        "explicit_paddings attribute must be empty if the padding attribute is not "
        "EXPLICIT");
  }
  if (a.explicit_paddings.size() != 8) {
    return errors::InvalidArgument("explicit_paddings attribute must contain 8 values, but got: ",
                                   a.explicit_paddings.size());
  }
  for (const int64_t p : a.explicit_paddings) {
    if (p < 0 || p > kMaxSize) {
      return errors::InvalidArgument(
          "All elements of explicit_paddings must be nonnegative for the spatial dimensions and fit in int32, got ", p);
    }
  }
  for (const int axis : {0, a.channel_axis()}) {
    if (a.pad_before(axis) == 0 && a.pad_after(axis) == 0) continue;
    return errors::InvalidArgument("Nonzero explicit padding in the batch or depth dimensions is not supported");
  }
  return OkStatus();
}

Status CheckRank(absl::string_view what, const Shape& shape) {
  if (shape.rank() == 4) return OkStatus();
  return errors::InvalidArgument(what, " must be 4-dimensional: ", shape.ToString());
}

Status CheckSizes(absl::string_view what, const Shape& shape) {
  for (const int64_t size : shape.dims()) {
    if (size > kMaxSize) return errors::InvalidArgument(what, " too large: ", shape.ToString());
  }
  return OkStatus();
}

Status CheckPaddingSize(absl::string_view side, int64_t padding, int64_t window) {
  if (padding < window) return OkStatus();
  return errors::InvalidArgument(side, " padding ", padding, " needs to be smaller than the window size ", window);
}

Status CheckGroups(int64_t in_channels, int64_t in_group, int64_t out_channels) {
  if (in_group == 0) return errors::InvalidArgument("filter depth must be strictly greater than 0");
  if (in_channels % in_group != 0 || in_channels == 0) {
    return errors::InvalidArgument("input depth must be evenly divisible by filter depth: ", in_channels, " vs ",
                                   in_group);
  }
  const int64_t groups = in_channels / in_group;
  if (out_channels % groups != 0) {
    return errors::InvalidArgument("output depth must be evenly divisible by number of groups: ", out_channels, " vs ",
                                   groups);
  }
  return OkStatus();
}

}  // namespace

StatusOr<WindowAttrs> WindowAttrs::Read(const AttrMap& attrs) {
  WindowAttrs a;
  std::string padding, format = "NHWC";
  RETURN_IF_ERROR(GetIfThere(attrs, "strides", &a.strides));
  RETURN_IF_ERROR(GetIfThere(attrs, "dilations", &a.dilations));
  RETURN_IF_ERROR(GetIfThere(attrs, "ksize", &a.window));
  RETURN_IF_ERROR(GetIfThere(attrs, "explicit_paddings", &a.explicit_paddings));
  RETURN_IF_ERROR(GetIfThere(attrs, "data_format", &format));
  RETURN_IF_ERROR(attrs.Get("padding", &padding));
  a.channels_first = format != "NHWC";
  if (format != "NHWC" && format != "NCHW") return errors::Unimplemented("data format ", format, " on the CPU");
  a.padding = padding == "SAME" ? Padding::kSame : padding == "EXPLICIT" ? Padding::kExplicit : Padding::kValid;
  if (a.dilations.empty()) a.dilations.assign(4, 1);
  if (attrs.Has("strides")) RETURN_IF_ERROR(a.Check());
  RETURN_IF_ERROR(CheckPadding(a));
  return a;
}

Status WindowAttrs::Check() const {
  RETURN_IF_ERROR(CheckFour("strides", strides));
  RETURN_IF_ERROR(CheckFour("dilations", dilations));
  if (!window.empty()) {
    RETURN_IF_ERROR(CheckFour("ksize", window));
    if (window[0] == 1 && strides[0] == 1) return OkStatus();
    return errors::Unimplemented("Pooling is not yet supported on the batch dimension.");
  }
  const int c = channel_axis();
  if (strides[0] != 1 || strides[c] != 1) {
    return errors::Unimplemented(
        "Current implementation does not yet support strides in the batch and depth "
        "dimensions.");
  }
  if (dilations[0] != 1 || dilations[c] != 1) {
    return errors::Unimplemented(
        "Current implementation does not yet support dilations in the batch and depth "
        "dimensions.");
  }
  return OkStatus();
}

WindowAttrs WindowAttrs::ChannelsLast() const {
  const ImageLayout layout(channels_first);
  WindowAttrs a = *this;
  for (std::vector<int64_t>* values : {&a.strides, &a.dilations, &a.window}) *values = layout.ToLast(*values);
  a.explicit_paddings = layout.ToLast(a.explicit_paddings, 2);
  a.channels_first = false;
  return a;
}

StatusOr<Placement> PlaceWindow(const WindowAttrs& a, int axis, int64_t input, int64_t window) {
  const int64_t stride = a.strides[axis];
  if (input > kMaxSize || window > kMaxSize) {
    return errors::InvalidArgument("Sizes too large: ", input, " for a window of ", window);
  }
  const int64_t reach = (window - 1) * a.dilations[axis] + 1;  // from the first tap to the last
  Placement p;
  if (a.padding == Padding::kSame) {
    p.output = (input + stride - 1) / stride;
    p.before = std::max<int64_t>(0, (p.output - 1) * stride + reach - input) / 2;
    return p;
  }
  p.before = a.pad_before(axis);
  p.output = (input + p.before + a.pad_after(axis) - reach + stride) / stride;
  if (p.output >= 0) return p;
  return errors::InvalidArgument("Computed output size would be negative: ", p.output, " [input_size: ", input,
                                 ", effective_filter_size: ", reach, ", stride: ", stride, "]");
}

StatusOr<int64_t> OutputSize(const WindowAttrs& a, int axis, int64_t input, int64_t window) {
  if (input < 0 || (window < 0 && a.padding != Padding::kSame)) return int64_t{-1};
  ASSIGN_OR_RETURN(const Placement p, PlaceWindow(a, axis, input, std::max<int64_t>(window, 1)));
  return p.output;
}

StatusOr<int64_t> OutputSizeIfItFits(const WindowAttrs& a, int axis, int64_t input, int64_t window) {
  const int64_t dilation = a.dilations.empty() ? 1 : a.dilations[axis];
  const int64_t padded = input + a.pad_before(axis) + a.pad_after(axis), wanted = (window - 1) * dilation + 1;
  if (a.padding != Padding::kSame && input >= 0 && window > 0 && padded < wanted) {
    return errors::InvalidArgument("Negative dimension size caused by subtracting ", wanted, " from ", padded);
  }
  return OutputSize(a, axis, input, window);
}

StatusOr<math::ConvShape> MakeConvShape(const WindowAttrs& a, const Shape& input, const Shape& filter, bool depthwise) {
  RETURN_IF_ERROR(CheckRank("input", input));
  RETURN_IF_ERROR(CheckRank("filter", filter));
  RETURN_IF_ERROR(CheckSizes("input", input));
  RETURN_IF_ERROR(CheckSizes("filter", filter));
  if (filter.dim(0) == 0 || filter.dim(1) == 0) {
    return errors::InvalidArgument("filter must not have zero elements (i.e. all dimensions must be non-zero): ",
                                   filter.ToString());
  }
  math::ConvShape s;
  s.batch = input.dim(0), s.in_height = input.dim(1), s.in_width = input.dim(2), s.in_channels = input.dim(3);
  s.filter_height = filter.dim(0), s.filter_width = filter.dim(1);
  if (depthwise) {
    if (s.in_channels != filter.dim(2)) {
      return errors::InvalidArgument("input and filter must have the same depth: ", s.in_channels, " vs ",
                                     filter.dim(2));
    }
    s.groups = std::max<int64_t>(1, s.in_channels);
    s.out_channels = s.in_channels * filter.dim(3);
  } else {
    RETURN_IF_ERROR(CheckGroups(s.in_channels, filter.dim(2), filter.dim(3)));
    s.groups = s.in_channels / filter.dim(2);
    s.out_channels = filter.dim(3);
  }
  ASSIGN_OR_RETURN(const Placement y, PlaceWindow(a, 1, s.in_height, s.filter_height));
  ASSIGN_OR_RETURN(const Placement x, PlaceWindow(a, 2, s.in_width, s.filter_width));
  s.out_height = y.output, s.pad_top = y.before;
  s.out_width = x.output, s.pad_left = x.before;
  s.stride_height = a.strides[1], s.stride_width = a.strides[2];
  s.dilation_height = a.dilations[1], s.dilation_width = a.dilations[2];
  return s;
}

StatusOr<math::PoolShape> MakePoolShape(const WindowAttrs& a, const Shape& input) {
  RETURN_IF_ERROR(CheckRank("tensor_in", input));
  RETURN_IF_ERROR(CheckPaddingSize("Top", a.pad_before(1), a.window[1]));
  RETURN_IF_ERROR(CheckPaddingSize("Bottom", a.pad_after(1), a.window[1]));
  RETURN_IF_ERROR(CheckPaddingSize("Left", a.pad_before(2), a.window[2]));
  RETURN_IF_ERROR(CheckPaddingSize("Right", a.pad_after(2), a.window[2]));
  math::PoolShape s;
  s.batch = input.dim(0), s.in_height = input.dim(1), s.in_width = input.dim(2), s.channels = input.dim(3);
  ASSIGN_OR_RETURN(const Placement y, PlaceWindow(a, 1, s.in_height, a.window[1]));
  ASSIGN_OR_RETURN(const Placement x, PlaceWindow(a, 2, s.in_width, a.window[2]));
  s.out_height = y.output, s.pad_top = y.before;
  s.out_width = x.output, s.pad_left = x.before;
  s.window_height = a.window[1], s.window_width = a.window[2];
  s.stride_height = a.strides[1], s.stride_width = a.strides[2];
  if (input.num_elements() == 0 && s.batch * s.channels > 0 && s.out_height * s.out_width > 0) {
    return errors::InvalidArgument("Pooling of an empty image with padding: ", input.ToString());
  }
  return s;
}

}  // namespace millstream
