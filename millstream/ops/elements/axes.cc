// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/elements/axes.h"

#include "millstream/tensor/dispatch.h"

namespace millstream {

Status ReadInts(const Tensor& t, Dims* out) {
  if (t.dtype() == DType::kInt32) {
    const auto values = t.flat<int32_t>();
    out->assign(values.begin(), values.end());
    return OkStatus();
  }
  const bool known = DispatchOver(IntTypes{}, t.dtype(), [&](auto type) {
    const auto values = t.flat<typename decltype(type)::type>();
    out->assign(values.begin(), values.end());
  });
  return known ? OkStatus() : errors::InvalidArgument("Expected integers, got ", DTypeName(t.dtype()));
}

Status ReadIntVector(const Tensor& t, absl::string_view what, Dims* out) {
  if (t.rank() != 1) return errors::InvalidArgument(what, " must be 1-D, got shape ", t.shape().ToString());
  return ReadInts(t, out);
}

Status ReadIntScalar(const Tensor& t, absl::string_view what, int64_t* out) {
  if (t.num_elements() != 1) {
    return errors::InvalidArgument(what, " must be a scalar, got shape ", t.shape().ToString());
  }
  if (t.dtype() == DType::kInt32) {
    *out = t.scalar<int32_t>();
    return OkStatus();
  }
  Dims values;
  RETURN_IF_ERROR(ReadInts(t, &values));
  *out = values[0];
  return OkStatus();
}

Status ReadAxis(const Tensor& t, absl::string_view what, int rank, int* axis) {
  int64_t value = 0;
  RETURN_IF_ERROR(ReadIntScalar(t, what, &value));
  return NormalizeAxis(value, what, rank, axis);
}

Status NormalizeAxis(int64_t value, absl::string_view what, int rank, int* axis) {
  if (value < -rank || value >= rank) {
    return errors::InvalidArgument("Expected ", what, " in the range [", -rank, ", ", rank, "), but got ", value);
  }
  *axis = static_cast<int>(value < 0 ? value + rank : value);
  return OkStatus();
}

}  // namespace millstream
