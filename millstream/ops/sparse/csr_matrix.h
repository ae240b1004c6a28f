// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SPARSE_CSR_MATRIX_H_
#define MILLSTREAM_OPS_SPARSE_CSR_MATRIX_H_

#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/op.h"

namespace millstream {

// Sparse matrices by rows, one or a batch of them, as the value of a variant scalar. Elements of a row lie in the order
// of their columns.
class CsrMatrix final : public VariantValue {
 public:
  std::string type_name() const override { return "tensorflow::CSRSparseMatrix"; }

  int64_t rows() const { return shape.dim(shape.rank() - 2); }
  int64_t cols() const { return shape.dim(shape.rank() - 1); }
  int64_t batch() const { return shape.rank() == 3 ? shape.dim(0) : 1; }
  int64_t nnz() const { return static_cast<int64_t>(columns.size()); }
  // Where the elements of row r of matrix b begin; those of the next row begin where they end.
  int64_t begin(int64_t b, int64_t r) const { return row_begins[b * rows() + r]; }
  int64_t end(int64_t b, int64_t r) const { return row_begins[b * rows() + r + 1]; }

  Shape shape;                      // of rank 2 or 3
  std::vector<int64_t> row_begins;  // batch * rows + 1
  std::vector<int32_t> columns;
  Tensor values;
};

using CsrTypes = Types<float, double, std::complex<float>, std::complex<double>>;

// The matrix in variant input i, with values of that type unless it is kInvalid.
StatusOr<const CsrMatrix*> CsrInput(const KernelContext& ctx, int i, DType dtype);
Status SetCsrOutput(KernelContext& ctx, int i, Ref<CsrMatrix> matrix);

// InvalidArgument unless matrices of these sizes can be had: of rank 2 or 3, with sizes of 32 bits.
Status CheckCsrShape(const Shape& shape);

// Transposed, and conjugated if asked for.
StatusOr<Ref<CsrMatrix>> TransposeCsr(const CsrMatrix& a, bool conjugate);

template <typename T>
T ConjugateIf(T x, bool conjugate) {
  if constexpr (kIsComplex<T>)
    return conjugate ? std::conj(x) : x;
  else
    return x;
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SPARSE_CSR_MATRIX_H_
