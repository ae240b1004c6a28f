// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/paddings.h"

namespace millstream {

Status ReadPaddings(const Tensor& t, int rank, Paddings* out) {
  if (t.rank() != 2 || t.dim(1) != 2) {
    return errors::InvalidArgument("paddings must be a matrix with 2 columns: ", t.shape().ToString());
  }
  if (t.dim(0) != rank) {
    return errors::InvalidArgument("The first dimension of paddings must be the rank of inputs, ", rank, ", but it is ",
                                   t.dim(0));
  }
  Dims values;
  RETURN_IF_ERROR(ReadInts(t, &values));
  for (size_t i = 0; i < values.size(); i += 2) {
    if (values[i] < 0 || values[i + 1] < 0) {
      return errors::InvalidArgument("Paddings must be non-negative: ", values[i], " ", values[i + 1]);
    }
    out->before.push_back(values[i]);
    out->after.push_back(values[i + 1]);
  }
  return OkStatus();
}

StatusOr<Shape> PaddedShape(const Shape& in, const Paddings& paddings) {
  Dims dims;
  for (int d = 0; d < in.rank(); ++d) {
    int64_t size = 0;
    if (__builtin_add_overflow(in.dim(d), paddings.before[d], &size) ||
        __builtin_add_overflow(size, paddings.after[d], &size)) {
      return errors::InvalidArgument("Paddings are too large: ", paddings.before[d], " ", paddings.after[d]);
    }
    dims.push_back(size);
  }
  return MakeShape(dims);
}

Status PadShapeFn(ShapeContext& c, int sign) {
  PartialShape matrix, in = c.input(0);
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &matrix));
  int64_t columns = 0, rank = in.rank();
  RETURN_IF_ERROR(ShapeContext::MergeDim(matrix.dim(1), 2, &columns));
  RETURN_IF_ERROR(ShapeContext::MergeDim(matrix.dim(0), rank, &rank));
  if (rank < 0 || rank > kMaxRank) return OkStatus();
  RETURN_IF_ERROR(ShapeContext::WithRank(in, static_cast<int>(rank), &in));
  if (c.constant(1) == nullptr) {
    c.set_output(0, PartialShape::UnknownOfRank(static_cast<int>(rank)));
    return OkStatus();
  }
  Paddings paddings;
  RETURN_IF_ERROR(ReadPaddings(*c.constant(1), static_cast<int>(rank), &paddings));
  std::vector<int64_t> dims;
  for (int d = 0; d < rank; ++d) {
    int64_t added = 0;
    if (__builtin_add_overflow(paddings.before[d], paddings.after[d], &added)) {
      return errors::InvalidArgument("Paddings are too large");
    }
    dims.push_back(in.dim(d));
    if (in.dim(d) < 0) continue;
    if (sign < 0 ? added > in.dim(d) : __builtin_add_overflow(in.dim(d), added, &dims.back())) {
      return errors::InvalidArgument("Paddings do not fit dimension ", d, " of ", in.ToString());
    }
    if (sign < 0) dims.back() = in.dim(d) - added;
  }
  ASSIGN_OR_RETURN(PartialShape out, PartialShape::Make(std::move(dims)));
  c.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace millstream
