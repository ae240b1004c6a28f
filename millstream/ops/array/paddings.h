// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_PADDINGS_H_
#define MILLSTREAM_OPS_ARRAY_PADDINGS_H_

#include "millstream/framework/shape_context.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {

// What is added before and after each dimension.
struct Paddings {
  Dims before, after;
};

// Reads an integer matrix [rank, 2] of sizes >= 0.
Status ReadPaddings(const Tensor& t, int rank, Paddings* out);
// The shape of a tensor of shape `in` after padding.
StatusOr<Shape> PaddedShape(const Shape& in, const Paddings& paddings);
// Shape function: input 0 padded as input 1 says; with `sign` -1, what it was before padding.
Status PadShapeFn(ShapeContext& c, int sign);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_PADDINGS_H_
