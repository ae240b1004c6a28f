// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_SPACE_BLOCKS_H_
#define MILLSTREAM_OPS_ARRAY_SPACE_BLOCKS_H_

#include "millstream/ops/array/paddings.h"

// Sizes of SpaceToBatch and BatchToSpace, on every device: blocks of images lie side by side in the wide form
// [batch, spatial..., rest], and one behind the other in the deep form [block..., batch, spatial / block..., rest].
namespace millstream {

// Block sizes and the paddings (or crops) of the block dimensions, which follow dimension 0.
struct Blocks {
  Dims block;
  Paddings edges;
  int64_t product = 1;
};

inline Status CheckBlocks(const Shape& in, Blocks* b) {
  if (in.rank() < 1 + static_cast<int>(b->block.size())) {
    return errors::InvalidArgument("input rank should be >= ", 1 + b->block.size(), " instead of ", in.rank());
  }
  for (const int64_t size : b->block) {
    if (size < 1) return errors::InvalidArgument("All values in block_shape must be positive, got value, ", size, ".");
    if (__builtin_mul_overflow(b->product, size, &b->product)) {
      return errors::InvalidArgument("Negative output dimension size caused by overflow when multiplying ", b->product,
                                     " and ", size);
    }
  }
  return OkStatus();
}

// *wide: the input with its paddings; *deep: the output.
inline Status SpaceToBatchShapes(const Shape& in, Blocks* b, Shape* wide, Shape* deep) {
  RETURN_IF_ERROR(CheckBlocks(in, b));
  Dims dims(in.dims().begin(), in.dims().end());
  for (size_t i = 0; i < b->block.size(); ++i) {
    int64_t& size = dims[i + 1];
    if (__builtin_add_overflow(size, b->edges.before[i], &size) ||
        __builtin_add_overflow(size, b->edges.after[i], &size) || size % b->block[i] != 0) {
      return errors::InvalidArgument("padded_shape[", i, "]=", size, " is not divisible by block_shape[", i,
                                     "]=", b->block[i]);
    }
  }
  ASSIGN_OR_RETURN(*wide, MakeShape(dims));
  if (__builtin_mul_overflow(dims[0], b->product, &dims[0])) return errors::InvalidArgument("Blocks are too large");
  for (size_t i = 0; i < b->block.size(); ++i) dims[i + 1] /= b->block[i];
  ASSIGN_OR_RETURN(*deep, MakeShape(dims));
  return OkStatus();
}

// *wide: the output before it is cropped.
inline Status BatchToSpaceShapes(const Shape& in, Blocks* b, Shape* wide, Shape* cropped) {
  RETURN_IF_ERROR(CheckBlocks(in, b));
  if (in.dim(0) % b->product != 0) {
    return errors::InvalidArgument("Input batch dimension (", in.dim(0),
                                   ") is not divisible by product of block sizes (", b->product, ")");
  }
  Dims dims(in.dims().begin(), in.dims().end());
  dims[0] /= b->product;
  Dims left = dims;
  for (size_t i = 0; i < b->block.size(); ++i) {
    int64_t& size = dims[i + 1];
    if (__builtin_mul_overflow(size, b->block[i], &size)) return errors::InvalidArgument("Blocks are too large");
    if (b->edges.before[i] > size || b->edges.after[i] > size - b->edges.before[i]) {
      return errors::InvalidArgument("cropped_shape[", i, "] must be non-negative; the size is ", size, ", crops are ",
                                     b->edges.before[i], " and ", b->edges.after[i]);
    }
    left[i + 1] = size - b->edges.before[i] - b->edges.after[i];
  }
  ASSIGN_OR_RETURN(*wide, MakeShape(dims));
  ASSIGN_OR_RETURN(*cropped, MakeShape(left));
  return OkStatus();
}

// Adds the axes of a copy between the two forms, in the order of the target, so that it is written forwards.
template <typename Copy>
void AddBlockAxes(const Shape& wide, const Blocks& b, bool wide_to_deep, Copy* copy) {
  const int m = static_cast<int>(b.block.size());
  const int64_t rest = wide.Product(m + 1, wide.rank());
  Dims wide_step(m + 1), deep_step(m + 1), block_step(m);  // of dimension 0 and the spatial ones
  int64_t w = rest, d = rest;
  for (int i = m; i >= 0; --i) {
    wide_step[i] = w;
    deep_step[i] = d;
    w *= wide.dim(i);
    d *= i > 0 ? wide.dim(i) / b.block[i - 1] : wide.dim(0);
  }
  for (int i = m - 1; i >= 0; --i) {
    block_step[i] = d;
    d *= b.block[i];
  }
  const auto add = [&](int64_t size, int64_t in_wide, int64_t in_deep) {
    copy->Add(size, wide_to_deep ? in_wide : in_deep, wide_to_deep ? in_deep : in_wide);
  };
  if (wide_to_deep) {
    for (int i = 0; i < m; ++i) add(b.block[i], wide_step[i + 1], block_step[i]);
  }
  add(wide.dim(0), wide_step[0], deep_step[0]);
  for (int i = 0; i < m; ++i) {
    add(wide.dim(i + 1) / b.block[i], wide_step[i + 1] * b.block[i], deep_step[i + 1]);
    if (!wide_to_deep) add(b.block[i], wide_step[i + 1], block_step[i]);
  }
  add(rest, 1, 1);
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_SPACE_BLOCKS_H_
