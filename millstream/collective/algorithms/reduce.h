// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_ALGORITHMS_REDUCE_H_
#define MILLSTREAM_COLLECTIVE_ALGORITHMS_REDUCE_H_

#include <cstdint>

#include "millstream/base/status.h"
#include "millstream/tensor/dtype.h"

namespace millstream::collective {

enum class ReduceOp : uint8_t { kSum, kMean, kMin, kMax, kProduct };

// half, bfloat16, float, double, int32, int64.
bool CanReduce(DType dtype);

// into[i] = into[i] op other[i]. 16-bit floats are computed in float and rounded; integers wrap around; NaN wins over
// numbers in kMin and kMax. kMean adds: Finish() divides. REQUIRES: CanReduce(dtype); the arrays do not overlap.
void ReduceInto(ReduceOp op, DType dtype, void* into, const void* other, int64_t n);

// into[i] = other[i] op into[i]: the same with the operands exchanged, for reductions in the order of ranks (only the
// payload of NaNs can tell the two apart).
void ReduceFrom(ReduceOp op, DType dtype, void* into, const void* other, int64_t n);

// out[i] = a[i] op b[i]; `out` may be `a`.
void Combine(ReduceOp op, DType dtype, void* out, const void* a, const void* b, int64_t n);

// What remains to be done after the contributions of `ranks` ranks were combined: kMean divides by their number
// (integers truncate towards zero), the others do nothing.
void Finish(ReduceOp op, DType dtype, void* data, int64_t n, int ranks);

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_ALGORITHMS_REDUCE_H_
