// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_SLICES_STRIDED_SLICE_COPY_H_
#define MILLSTREAM_OPS_ARRAY_SLICES_STRIDED_SLICE_COPY_H_

#include "millstream/ops/array/slices/strided_slice_spec.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {

// Resolves begin, end and strides, which are inputs first, first + 1 and first + 2, against the shape `dims`.
Status ReadSlice(const KernelContext& ctx, int first, std::span<const int64_t> dims, const SliceMasks& masks,
                 SlicePlan* plan);

// Adds the axes of the slice of `whole` to `copy`, which reads the slice from `whole` or writes it there; returns at
// which element of `whole` it begins. REQUIRES: the slice has elements.
int64_t AddSliceAxes(const Shape& whole, const SlicePlan& plan, bool whole_is_target, StridedCopy* copy);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_SLICES_STRIDED_SLICE_COPY_H_
