// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_ARRAY_PARTS_H_
#define MILLSTREAM_OPS_ARRAY_PARTS_H_

#include "millstream/framework/kernel.h"
#include "millstream/ops/elements/axes.h"

// What kernels that cut tensors or join them check, on every device: Slice, Split, SplitV, Concat and ConcatV2.
namespace millstream {

// Reads and checks begin and size; sizes of -1 become what is left.
inline Status ReadSliceRange(const KernelContext& ctx, Dims* begin, Dims* size) {
  const Shape& in = ctx.input(0).shape();
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "begin", begin));
  RETURN_IF_ERROR(ReadIntVector(ctx.input(2), "size", size));
  if (static_cast<int>(begin->size()) != in.rank() || static_cast<int>(size->size()) != in.rank()) {
    return errors::InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ", in.rank(),
                                   ", but got shapes ", ctx.input(1).shape().ToString(), " and ",
                                   ctx.input(2).shape().ToString(), " instead.");
  }
  for (int d = 0; d < in.rank(); ++d) {
    int64_t& b = (*begin)[d];
    int64_t& s = (*size)[d];
    if (b < 0 || b > in.dim(d)) {
      return errors::InvalidArgument("Expected begin[", d, "] in [0, ", in.dim(d), "], but got ", b);
    }
    if (s == -1) s = in.dim(d) - b;
    if (s < 0 || s > in.dim(d) - b) {
      return errors::InvalidArgument("Expected size[", d, "] in [0, ", in.dim(d) - b, "], but got ", s);
    }
  }
  return OkStatus();
}

inline Status ReadSplitDim(const Tensor& t, int rank, int* axis) {
  if (t.num_elements() != 1) return errors::InvalidArgument("split_dim_tensor must have exactly one element.");
  return ReadAxis(t, "split_dim", rank, axis);
}

// Checks the sizes and replaces one of -1 by what is left of `total`.
inline Status CompleteSizes(int64_t total, Dims* sizes) {
  int unknown = -1;
  int64_t sum = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size == -1) {
      if (unknown >= 0) return errors::InvalidArgument("There can only be one -1 in the input.");
      unknown = static_cast<int>(i);
    } else if (size < 0 || size > total) {
      return errors::InvalidArgument("Split size at index ", i, " must be in [0, ", total, "], got ", size);
    } else {
      sum += size;
    }
    if (sum > total) break;
  }
  if (unknown < 0 ? sum != total : sum > total) {
    return errors::InvalidArgument(
        "Determined shape must either match input shape along split_dim exactly if fully "
        "specified, or be less than the size of the input along split_dim if not fully "
        "specified. Got: ",
        sum);
  }
  if (unknown >= 0) (*sizes)[unknown] = total - sum;
  return OkStatus();
}

inline Status ReadConcatAxis(const Tensor& t, int rank, int* axis) {
  int64_t value = 0;
  RETURN_IF_ERROR(ReadIntScalar(t, "Concat axis tensor", &value));
  if (value < -rank || value >= rank) {
    return errors::InvalidArgument("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ", rank,
                                   "), but got ", value);
  }
  *axis = static_cast<int>(value < 0 ? value + rank : value);
  return OkStatus();
}

inline Status CheckConcatShape(const Shape& first, const Shape& shape, int axis, int i) {
  if (shape.rank() != first.rank()) {
    return errors::InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = ", first.ToString(),
                                   " vs. shape[", i, "] = ", shape.ToString());
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != axis && shape.dim(d) != first.dim(d)) {
      return errors::InvalidArgument("ConcatOp : Dimension ", d,
                                     " in both shapes must be equal: shape[0] = ", first.ToString(), " vs. shape[", i,
                                     "] = ", shape.ToString());
    }
  }
  return OkStatus();
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_ARRAY_PARTS_H_
