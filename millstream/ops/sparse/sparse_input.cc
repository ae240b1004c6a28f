// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/sparse/sparse_input.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_join.h"

namespace millstream {

StatusOr<SparseInput> MakeSparse(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  if (indices.rank() != 2) {
    return errors::InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString());
  }
  if (values.rank() != 1) {
    return errors::InvalidArgument("Input values should be a vector but received shape ", values.shape().ToString());
  }
  if (shape.rank() != 1) {
    return errors::InvalidArgument("Input shape should be a vector but received shape ", shape.shape().ToString());
  }
  if (indices.dim(0) != values.dim(0)) {
    return errors::InvalidArgument("Number of values must match first dimension of indices. Got ", values.dim(0),
                                   " values, indices shape: ", indices.shape().ToString());
  }
  if (indices.dim(1) != shape.dim(0)) {
    return errors::InvalidArgument("Number of dimensions must match second dimension of indices. Got ", shape.dim(0),
                                   " dimensions, indices shape: ", indices.shape().ToString());
  }
  SparseInput s{indices, values, {}};
  RETURN_IF_ERROR(ReadInts(shape, &s.shape));
  RETURN_IF_ERROR(MakeShape(s.shape).status());
  return s;
}

StatusOr<SparseInput> ReadSparse(const KernelContext& ctx, int i) {
  return MakeSparse(ctx.input(i), ctx.input(i + 1), ctx.input(i + 2));
}

Status CheckSparse(const KernelContext& ctx, int i) {
  const Tensor &indices = ctx.input(i), &values = ctx.input(i + 1), &shape = ctx.input(i + 2);
  const auto check_rank = [](const char* what, const Tensor& t, int rank) {
    if (t.rank() == rank) return OkStatus();
    return errors::InvalidArgument("Sparse ", what, " must be rank ", rank, " but is rank ", t.rank());
  };
  RETURN_IF_ERROR(check_rank("indices", indices, 2));
  RETURN_IF_ERROR(check_rank("values", values, 1));
  RETURN_IF_ERROR(check_rank("shape", shape, 1));
  if (indices.dim(0) != values.dim(0)) {
    return errors::InvalidArgument("Number of elements in indices (", indices.dim(0), ") and values (", values.dim(0),
                                   ") do not match");
  }
  if (indices.dim(1) != shape.dim(0)) {
    return errors::InvalidArgument("Index rank (", indices.dim(1), ") and shape rank (", shape.dim(0),
                                   ") do not match");
  }
  return OkStatus();
}

namespace {
std::string Place(const int64_t* at, int rank) { return absl::StrJoin(at, at + rank, ","); }
}  // namespace

Status CheckBounds(const SparseInput& s) {
  for (int64_t i = 0; i < s.size(); ++i) {
    const int64_t* at = s.at(i);
    for (int d = 0; d < s.rank(); ++d) {
      if (at[d] < 0 || at[d] >= s.shape[d]) {
        return errors::InvalidArgument("indices[", i, "] = [", Place(at, s.rank()),
                                       "] is out of bounds: need 0 <= index < [", absl::StrJoin(s.shape, ","), "]");
      }
    }
  }
  return OkStatus();
}

Status CheckOrdered(const SparseInput& s) {
  RETURN_IF_ERROR(CheckBounds(s));
  for (int64_t i = 1; i < s.size(); ++i) {
    const int order = CompareIndices(s.at(i - 1), s.at(i), s.rank());
    if (order == 0) return errors::InvalidArgument("indices[", i, "] = [", Place(s.at(i), s.rank()), "] is repeated");
    if (order > 0) {
      return errors::InvalidArgument("indices[", i, "] = [", Place(s.at(i), s.rank()), "] is out of order");
    }
  }
  return OkStatus();
}

int CompareIndices(const int64_t* a, const int64_t* b, int rank) {
  for (int d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

std::vector<int64_t> OrderOf(const SparseInput& s) {
  std::vector<int64_t> order(static_cast<size_t>(s.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return CompareIndices(s.at(a), s.at(b), s.rank()) < 0; });
  return order;
}

StatusOr<Tensor*> WriteSparse(KernelContext& ctx, int i, const std::vector<int64_t>& entries, int rank,
                              const Dims* shape) {
  const int64_t n = rank == 0 ? 0 : static_cast<int64_t>(entries.size()) / rank;
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(i, Shape({n, rank})));
  std::copy(entries.begin(), entries.end(), indices->data<int64_t>());
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(i + 1, Shape({n})));
  if (shape != nullptr) {
    ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(i + 2, Shape({static_cast<int64_t>(shape->size())})));
    std::copy(shape->begin(), shape->end(), sizes->data<int64_t>());
  }
  return values;
}

void SetSparseOutput(ShapeContext& c, int i, int64_t rank) {
  c.set_output(i, PartialShape({-1, rank}));
  c.set_output(i + 1, PartialShape({-1}));
  c.set_output(i + 2, PartialShape({rank}));
}

Status SparseRank(const PartialShape& indices, const PartialShape& values, const PartialShape& shape, int64_t* n,
                  int64_t* rank) {
  PartialShape i, v, s;
  RETURN_IF_ERROR(ShapeContext::WithRank(indices, 2, &i));
  RETURN_IF_ERROR(ShapeContext::WithRank(values, 1, &v));
  RETURN_IF_ERROR(ShapeContext::WithRank(shape, 1, &s));
  RETURN_IF_ERROR(ShapeContext::MergeDim(i.dim(0), v.dim(0), n));
  return ShapeContext::MergeDim(i.dim(1), s.dim(0), rank);
}

}  // namespace millstream
