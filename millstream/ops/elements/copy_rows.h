// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_COPY_ROWS_H_
#define MILLSTREAM_OPS_ELEMENTS_COPY_ROWS_H_

#include "millstream/tensor/tensor.h"

namespace millstream {

// Copies `n` elements. REQUIRES: same type; in range.
void CopyElements(const Tensor& from, int64_t from_offset, int64_t n, Tensor* to, int64_t to_offset);
// Row `i` of a tensor, in memory of its own.
StatusOr<Tensor> CopyRow(const Tensor& t, int64_t i);
// Rows [begin, end). REQUIRES: rank >= 1; in range.
StatusOr<Tensor> CopyRows(const Tensor& t, int64_t begin, int64_t end);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_COPY_ROWS_H_
