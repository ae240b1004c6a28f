// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/quantized/uniform/affine.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace millstream::uniform {

CodeRange::CodeRange(KernelInit& init, absl::string_view prefix)
    : low(init.Attr<int>(absl::StrCat(prefix, "quantization_min_val"))),
      high(init.Attr<int>(absl::StrCat(prefix, "quantization_max_val"))) {}

int AxisAttr(KernelInit& init, absl::string_view prefix) {
  const std::string name = absl::StrCat(prefix, "quantization_axis");
  const int axis = init.Attr<int>(name);
  if (axis < -1) init.Fail(errors::InvalidArgument(name, " must be >= -1, given: ", axis));
  return axis;
}

Channels::Channels(const Shape& shape, int axis) {
  if (axis < 0) return;
  count_ = shape.dim(axis);
  inner_ = shape.Product(axis + 1, shape.rank());
}

StatusOr<Scales> Scales::Read(const Shape& data, const Tensor& scales, const Tensor& zeros, int axis) {
  if (scales.shape() != zeros.shape()) {
    return errors::InvalidArgument("scales and zero_points shape must be same, but given scales shape ",
                                   scales.shape().ToString(), " and zero_points shape ", zeros.shape().ToString());
  }
  if (axis < -1 || axis >= data.rank()) {
    return errors::InvalidArgument("quantization_axis must be -1 or in range [0, input.rank), but given ", axis);
  }
  const bool fits = axis == -1 ? scales.rank() == 0 : scales.rank() == 1 && scales.dim(0) == data.dim(axis);
  if (!fits) {
    return errors::InvalidArgument(
        "scales and zero_points must be scalars if quantization_axis is -1, otherwise vectors "
        "of the size of that dimension; given quantization_axis ",
        axis, ", data of shape ", data.ToString(), " and scales of shape ", scales.shape().ToString());
  }
  Scales read;
  read.scales_ = scales.data<float>();
  read.zeros_ = zeros.data<int32_t>();
  read.size_ = scales.num_elements();
  read.per_channel_ = axis >= 0;
  return read;
}

bool Scales::AllPositive() const {
  return std::all_of(scales_, scales_ + size_, [](float scale) { return scale > 0; });
}

StatusOr<FixedMultiplier> FixedMultiplier::Make(double factor) {
  constexpr int kBits = 31, kLargest = 30, kSmallest = -31;
  if (!std::isfinite(factor) || factor <= 0) {
    return errors::InvalidArgument("the ratio of scales must be a positive finite number, is ", factor);
  }
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);
  auto mantissa = static_cast<int64_t>(std::round(std::ldexp(fraction, kBits)));
  if (mantissa == int64_t{1} << kBits) {
    mantissa /= 2;
    ++exponent;
  }
  FixedMultiplier result;
  if (exponent < kSmallest) return result;
  result.mantissa_ = exponent > kLargest ? INT32_MAX : static_cast<int32_t>(mantissa);
  result.shift_ = kBits - std::min(exponent, kLargest);
  return result;
}

}  // namespace millstream::uniform
