// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_SEGMENT_H_
#define MILLSTREAM_OPS_ELEMENTS_SEGMENT_H_

#include <span>
#include <vector>

#include "millstream/framework/op.h"

namespace millstream {

enum class SegmentOp { kSum, kMean, kProd, kMax, kMin };

// Combines row i of `data` into row ids[i] of `out`; negative ids are left out. Rows of `out` that nothing falls into
// get the neutral element, or zero if `zero_where_empty` (which kMean needs).
// REQUIRES: ids are below the number of rows; data has ids.size() rows of the size of those of `out`.
Status CombineSegments(KernelContext& ctx, SegmentOp op, const Tensor& data, const std::vector<int64_t>& ids,
                       bool zero_where_empty, Tensor* out);

// One more than the last of sorted ids. InvalidArgument if that is negative.
StatusOr<int64_t> RowsOf(std::span<const int64_t> ids);
// InvalidArgument unless ids never fall and lie in [0, rows).
Status CheckSorted(std::span<const int64_t> ids, int64_t rows);

// Integers of any index type.
std::vector<int64_t> ReadIds(const Tensor& ids);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_SEGMENT_H_
