// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_AXES_H_
#define MILLSTREAM_OPS_ELEMENTS_AXES_H_

#include "absl/container/inlined_vector.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Sizes, offsets or axes of one tensor; no heap for ordinary ranks.
using Dims = absl::InlinedVector<int64_t, 8>;

// All elements of an integer tensor of any rank. InvalidArgument for other types.
Status ReadInts(const Tensor& t, Dims* out);
// The same for a vector; `what` names it in the error if it is not one.
Status ReadIntVector(const Tensor& t, absl::string_view what, Dims* out);
// The single integer of a tensor with one element.
Status ReadIntScalar(const Tensor& t, absl::string_view what, int64_t* out);
// A scalar `t` as an axis of a tensor with `rank` dimensions, negative ones counted from the end.
Status ReadAxis(const Tensor& t, absl::string_view what, int rank, int* axis);
// *axis made non-negative; InvalidArgument unless it is in [-rank, rank).
Status NormalizeAxis(int64_t value, absl::string_view what, int rank, int* axis);

inline StatusOr<Shape> MakeShape(const Dims& dims) { return Shape::Make({dims.data(), dims.size()}); }

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_AXES_H_
