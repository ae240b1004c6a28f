// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/shape_context.h"

#include <algorithm>
#include <set>

namespace millstream {
namespace {

bool ReadInts(const Tensor& t, std::vector<int64_t>* values) {
  if (t.dtype() == DType::kInt32) {
    values->assign(t.flat<int32_t>().begin(), t.flat<int32_t>().end());
  } else if (t.dtype() == DType::kInt64) {
    values->assign(t.flat<int64_t>().begin(), t.flat<int64_t>().end());
  } else {
    return false;
  }
  return true;
}

}  // namespace

StatusOr<PartialShape> ShapeContext::ConstantAsShape(int i) const {
  const PartialShape& in = inputs_[i];
  if (const Tensor* t = constant(i)) {
    std::vector<int64_t> dims;
    if (!ReadInts(*t, &dims))
      return errors::InvalidArgument("Shape must be int32 or int64, is ", DTypeName(t->dtype()));
    if (t->rank() == 0 && dims[0] == -1) return PartialShape::Unknown();
    if (t->rank() != 1) return errors::InvalidArgument("Shape must be rank 1 but is rank ", t->rank());
    return PartialShape::Make(std::move(dims));
  }
  if (constant_shapes_[i].rank_known()) return constant_shapes_[i];
  if (in.rank_known() && in.rank() > 1) return errors::InvalidArgument("Shape must be rank 1 but is rank ", in.rank());
  if (in.rank_known() && in.rank() == 1 && in.dim(0) >= 0 && in.dim(0) <= kMaxRank) {
    return PartialShape::UnknownOfRank(static_cast<int>(in.dim(0)));
  }
  return PartialShape::Unknown();
}

bool ShapeContext::ConstantInt(int i, int64_t* value) const {
  std::vector<int64_t> values;
  if (!ConstantInts(i, &values) || values.size() != 1) return false;
  *value = values[0];
  return true;
}

bool ShapeContext::ConstantInts(int i, std::vector<int64_t>* values) const {
  const Tensor* t = constant(i);
  return t != nullptr && ReadInts(*t, values);
}

Status ShapeContext::WithRank(const PartialShape& shape, int rank, PartialShape* out) {
  if (!shape.rank_known()) {
    *out = PartialShape::UnknownOfRank(rank);
    return OkStatus();
  }
  if (shape.rank() != rank) {
    return errors::InvalidArgument("Shape must be rank ", rank, " but is rank ", shape.rank());
  }
  *out = shape;
  return OkStatus();
}

Status ShapeContext::WithRankAtLeast(const PartialShape& shape, int rank, PartialShape* out) {
  if (shape.rank_known() && shape.rank() < rank) {
    return errors::InvalidArgument("Shape must be at least rank ", rank, " but is rank ", shape.rank());
  }
  *out = shape;
  return OkStatus();
}

Status ShapeContext::WithRankAtMost(const PartialShape& shape, int rank, PartialShape* out) {
  if (shape.rank_known() && shape.rank() > rank) {
    return errors::InvalidArgument("Shape must be at most rank ", rank, " but is rank ", shape.rank());
  }
  *out = shape;
  return OkStatus();
}

Status ShapeContext::MergeDim(int64_t a, int64_t b, int64_t* out) {
  if (a >= 0 && b >= 0 && a != b) return errors::InvalidArgument("Dimensions must be equal, but are ", a, " and ", b);
  *out = a >= 0 ? a : b;
  return OkStatus();
}

StatusOr<PartialShape> ShapeContext::Broadcast(const PartialShape& a, const PartialShape& b) {
  if (!a.rank_known() || !b.rank_known()) return PartialShape::Unknown();
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t x = ia < 0 ? 1 : a.dim(ia), y = ib < 0 ? 1 : b.dim(ib);
    if (x == 1)
      dims[i] = y;
    else if (y == 1)
      dims[i] = x;
    else if (x < 0)
      dims[i] = y;  // must equal y, or be 1: y either way (unknown if y is)
    else if (y < 0 || x == y)
      dims[i] = x;
    else
      return errors::InvalidArgument("Dimensions must be equal, but are ", x, " and ", y);
  }
  return PartialShape(std::move(dims));
}

Status UnknownShape(ShapeContext&) { return OkStatus(); }
Status NoOutputs(ShapeContext&) { return OkStatus(); }

Status UnchangedShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  if (c.input_handle_dtype(0) != DType::kInvalid)
    c.set_output_handle(0, c.input_handle_shape(0), c.input_handle_dtype(0));
  return OkStatus();
}

Status ScalarShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape());
  return OkStatus();
}

Status BroadcastBinaryShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, ShapeContext::Broadcast(c.input(0), c.input(1)));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status MergeBothShapes(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.input(0).MergeWith(c.input(1)));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status ReductionShape(ShapeContext& c) {
  bool keep_dims = false;
  RETURN_IF_ERROR(c.GetAttr("keep_dims", &keep_dims));
  const PartialShape& in = c.input(0);
  std::vector<int64_t> axes;
  if (!c.ConstantInts(1, &axes)) {
    if (keep_dims && in.rank_known()) c.set_output(0, PartialShape::UnknownOfRank(in.rank()));
    return OkStatus();
  }
  if (!in.rank_known()) return OkStatus();
  std::set<int64_t> reduced;
  for (int64_t axis : axes) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return errors::InvalidArgument("Invalid reduction dimension ", axis, " for input with ", in.rank(),
                                     " dimensions.");
    }
    reduced.insert(axis < 0 ? axis + in.rank() : axis);
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced.count(i))
      dims.push_back(in.dim(i));
    else if (keep_dims)
      dims.push_back(1);
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

Status ShapeFromAttr(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

}  // namespace millstream
