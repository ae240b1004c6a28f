// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SPARSE_SPARSE_INPUT_H_
#define MILLSTREAM_OPS_SPARSE_SPARSE_INPUT_H_

#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {

// A sparse tensor as ops take it: indices [n, rank], values [n], shape [rank]. A view: the tensors must outlive it.
struct SparseInput {
  const Tensor& indices;
  const Tensor& values;
  Dims shape;

  int64_t size() const { return indices.dim(0); }
  int rank() const { return static_cast<int>(shape.size()); }
  // The coordinates of entry i.
  const int64_t* at(int64_t i) const { return indices.data<int64_t>() + i * rank(); }
};

// Inputs i, i + 1, i + 2 as a sparse tensor. InvalidArgument if their shapes do not fit each other or a size is
// negative; indices themselves are not looked at.
StatusOr<SparseInput> ReadSparse(const KernelContext& ctx, int i);
// From three tensors that need not be next to each other.
StatusOr<SparseInput> MakeSparse(const Tensor& indices, const Tensor& values, const Tensor& shape);

// InvalidArgument if the shapes of the three do not fit each other; worded as TensorFlow's ops that check the whole of
// a sparse tensor do, other than ReadSparse().
Status CheckSparse(const KernelContext& ctx, int i);

// InvalidArgument unless every index is inside of the shape.
Status CheckBounds(const SparseInput& s);
// InvalidArgument unless they are also in the order of rows, without repetitions.
Status CheckOrdered(const SparseInput& s);

// -1, 0, 1: how two rows of coordinates compare.
int CompareIndices(const int64_t* a, const int64_t* b, int rank);

// The entries in the order of rows; entries at the same place stay in theirs.
std::vector<int64_t> OrderOf(const SparseInput& s);

// Writes a sparse tensor to outputs i, i + 1 and, if `shape` is not null, i + 2. `entries` are rows of coordinates;
// values are left to the caller, whose tensor is returned.
StatusOr<Tensor*> WriteSparse(KernelContext& ctx, int i, const std::vector<int64_t>& entries, int rank,
                              const Dims* shape);

// For shape functions: outputs i, i + 1, i + 2 are a sparse tensor of that rank (-1 unknown).
void SetSparseOutput(ShapeContext& c, int i, int64_t rank);
// Merged rank from indices [?, rank] and shape [rank]; InvalidArgument if they cannot fit.
Status SparseRank(const PartialShape& indices, const PartialShape& values, const PartialShape& shape, int64_t* n,
                  int64_t* rank);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SPARSE_SPARSE_INPUT_H_
