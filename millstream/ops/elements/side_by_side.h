// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ELEMENTS_SIDE_BY_SIDE_H_
#define MILLSTREAM_OPS_ELEMENTS_SIDE_BY_SIDE_H_

#include <span>

#include "absl/container/inlined_vector.h"
#include "millstream/framework/kernel.h"

namespace millstream {

// One of several arrays seen as matrices with the same number of rows.
struct ColumnBlock {
  void* data;
  int64_t width;  // elements per row
};
using ColumnBlocks = absl::InlinedVector<ColumnBlock, 8>;

// Rows of `whole` are the rows of all blocks, one after the other: copies the blocks into it, or it into the blocks.
void JoinColumns(const KernelContext& ctx, DType dtype, std::span<const ColumnBlock> blocks, int64_t rows, void* whole);
void SplitColumns(const KernelContext& ctx, DType dtype, const void* whole, int64_t rows,
                  std::span<const ColumnBlock> blocks);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ELEMENTS_SIDE_BY_SIDE_H_
