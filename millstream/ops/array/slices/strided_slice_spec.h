// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_SLICES_STRIDED_SLICE_SPEC_H_
#define MILLSTREAM_OPS_ARRAY_SLICES_STRIDED_SLICE_SPEC_H_

#include "millstream/framework/attr_value.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {

// The five attributes that all strided-slice ops have. Bit i speaks of position i of begin, end and strides.
struct SliceMasks {
  int64_t begin = 0;        // ignore begin[i]: from the first element
  int64_t end = 0;          // ignore end[i]: to the last
  int64_t ellipsis = 0;     // as many full dimensions as are left over; at most one bit
  int64_t new_axis = 0;     // a new dimension of size one
  int64_t shrink_axis = 0;  // only element begin[i], and the dimension disappears

  static Status Read(const AttrMap& attrs, SliceMasks* masks);
};
// Their declarations.
inline void SliceMaskAttrs(OpBuilder& op) {
  op.Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("ellipsis_mask: int = 0")
      .Attr("new_axis_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0");
}
// A node of the family with the masks of the node whose gradient is sought.
Output SliceRelative(GradContext& g, const char* type, std::vector<Output> inputs);

// A slice resolved against the shape of a tensor.
struct SlicePlan {
  // One for each dimension of the tensor, -1 in `size` and 0 in `begin` where it cannot be told.
  Dims begin, stride, size;
  // The shape of the result, -1 where unknown.
  Dims final_dims;
};

// What `begin:end:strides` with `masks` cuts out of a tensor of shape `dims` (-1: unknown). `begin` and `end` may be
// null when their values are not known yet. InvalidArgument for a malformed slice or an index out of bounds.
Status ResolveSlice(std::span<const int64_t> dims, const Dims* begin, const Dims* end, const Dims& strides,
                    const SliceMasks& masks, SlicePlan* plan);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_SLICES_STRIDED_SLICE_SPEC_H_
