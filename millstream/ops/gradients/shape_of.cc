// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/gradients/shape_of.h"

#include <algorithm>
#include <limits>

namespace millstream {

Output ConstInts(const GradContext& g, const std::vector<int64_t>& values, DType type) {
  if (type == DType::kInt64) return g.scope().Const(Tensor::Vector(values));
  return g.scope().Const(Tensor::Vector(std::vector<int32_t>(values.begin(), values.end())));
}

Output ConstInt(const GradContext& g, int64_t value, DType type) {
  if (type == DType::kInt64) return g.scope().Const(Tensor::Scalar(value));
  return g.scope().Const(Tensor::Scalar(static_cast<int32_t>(value)));
}

Output ShapeOf(const GradContext& g, Output x, DType type) {
  const PartialShape shape = g.scope().ShapeOf(x);
  const auto fits = [&](int64_t d) { return type == DType::kInt64 || d <= std::numeric_limits<int32_t>::max(); };
  if (shape.IsFullyDefined() && std::all_of(shape.dims().begin(), shape.dims().end(), fits)) {
    return ConstInts(g, shape.dims(), type);
  }
  return g.Op("Shape", {x}, {{"out_type", type}});
}

}  // namespace millstream
