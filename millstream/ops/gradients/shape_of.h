// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_GRADIENTS_SHAPE_OF_H_
#define MILLSTREAM_OPS_GRADIENTS_SHAPE_OF_H_

#include "millstream/graph/gradients/gradient.h"

namespace millstream {

// For gradient functions: the shape of `x` as a vector of `type` (int32 or int64); a constant where it is known.
Output ShapeOf(const GradContext& g, Output x, DType type = DType::kInt32);
// The integers `values` as a constant vector of `type`.
Output ConstInts(const GradContext& g, const std::vector<int64_t>& values, DType type = DType::kInt32);
// An integer as a constant scalar of `type`.
Output ConstInt(const GradContext& g, int64_t value, DType type = DType::kInt32);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_GRADIENTS_SHAPE_OF_H_
