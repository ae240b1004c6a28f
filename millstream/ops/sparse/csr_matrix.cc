// SPDX-License-Identifier: Apache-2.0
// Sparse matrices by rows: made of other tensors and turned into them.
#include "millstream/ops/sparse/csr_matrix.h"

#include <algorithm>
#include <limits>

#include "millstream/ops/elements/blob.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {

StatusOr<const CsrMatrix*> CsrInput(const KernelContext& ctx, int i, DType dtype) {
  const Tensor& t = ctx.input(i);
  const auto* matrix = t.num_elements() == 1 ? t.data<Variant>()[0].get<CsrMatrix>() : nullptr;
  if (matrix == nullptr) return errors::InvalidArgument("Invalid input matrix: input ", i, " is no CSRSparseMatrix");
  if (dtype != DType::kInvalid && matrix->values.dtype() != dtype) {
    return errors::InvalidArgument("Asked for a CSRSparseMatrix of type ", DTypeName(dtype), " but saw dtype ",
                                   DTypeName(matrix->values.dtype()));
  }
  return matrix;
}

Status SetCsrOutput(KernelContext& ctx, int i, Ref<CsrMatrix> matrix) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, Shape()));
  out->data<Variant>()[0] = Variant(Ref<VariantValue>(std::move(matrix)));
  return OkStatus();
}

Status CheckCsrShape(const Shape& shape) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (shape.rank() != 2 && shape.rank() != 3) {
    return errors::InvalidArgument("SparseTensor must have rank 2 or 3; but the shape is ", shape.ToString());
  }
  const int64_t batch = shape.rank() == 3 ? shape.dim(0) : 1, rows = shape.dim(shape.rank() - 2);
  if (batch >= kMost) return errors::InvalidArgument("dense_shape batch_size must be < Int32Max, got ", batch);
  int64_t all = 0;
  if (__builtin_mul_overflow(batch, rows + 1, &all) || all > kMost) {
    return errors::InvalidArgument("csr row index size ", batch, " * (", rows, " + 1) must be <= Int32Max");
  }
  // What is kept for every row, and for every column of a product, is taken before the elements are seen.
  constexpr int64_t kMostKept = int64_t{1} << 28;
  if (all <= kMostKept && shape.dim(shape.rank() - 1) <= kMostKept) return OkStatus();
  return errors::ResourceExhausted("a sparse matrix by rows of shape ", shape.ToString(), " takes too much memory");
}

StatusOr<Ref<CsrMatrix>> TransposeCsr(const CsrMatrix& a, bool conjugate) {
  auto out = MakeRef<CsrMatrix>();
  out->shape = a.shape.rank() == 3 ? Shape({a.batch(), a.cols(), a.rows()}) : Shape({a.cols(), a.rows()});
  RETURN_IF_ERROR(CheckCsrShape(out->shape));
  out->row_begins.assign(static_cast<size_t>(a.batch() * a.cols() + 1), 0);
  out->columns.resize(a.columns.size());
  ASSIGN_OR_RETURN(out->values, Tensor::Make(a.values.dtype(), a.values.shape()));
  std::vector<int64_t>& begins = out->row_begins;
  for (int64_t b = 0; b < a.batch(); ++b) {
    for (int64_t k = a.begin(b, 0); k < a.row_begins[(b + 1) * a.rows()]; ++k)
      ++begins[b * a.cols() + a.columns[k] + 1];
  }
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  std::vector<int64_t> next(begins.begin(), begins.end() - 1);
  DispatchOver(CsrTypes{}, a.values.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (int64_t b = 0; b < a.batch(); ++b) {
      for (int64_t r = 0; r < a.rows(); ++r) {
        for (int64_t k = a.begin(b, r); k < a.end(b, r); ++k) {
          const int64_t to = next[b * a.cols() + a.columns[k]]++;
          out->columns[to] = static_cast<int32_t>(r);
          out->values.data<T>()[to] = ConjugateIf(a.values.data<T>()[k], conjugate);
        }
      }
    }
  });
  return out;
}

namespace {

// Of indices that are sorted: rows of [row, column] or [batch, row, column], which are checked.
StatusOr<Ref<CsrMatrix>> FromIndices(const Tensor& indices, const Shape& shape) {
  RETURN_IF_ERROR(CheckCsrShape(shape));
  const int rank = shape.rank();
  if (indices.rank() != 2) return errors::InvalidArgument("indices must be rank 2, got ", indices.shape().ToString());
  if (indices.dim(1) != rank) {
    return errors::InvalidArgument("Index rank ", indices.dim(1), " and shape rank ", rank, " do not match");
  }
  auto m = MakeRef<CsrMatrix>();
  m->shape = shape;
  m->row_begins.assign(static_cast<size_t>(m->batch() * m->rows() + 1), 0);
  int64_t last = -1;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const int64_t* at = indices.data<int64_t>() + i * rank;
    int64_t flat = 0;
    for (int d = 0; d < rank; ++d) {
      if (at[d] < 0 || at[d] >= shape.dim(d)) {
        return errors::InvalidArgument("index ", at[d], " of element ", i, " is not in [0, ", shape.dim(d), ")");
      }
      flat = flat * shape.dim(d) + at[d];
    }
    if (flat <= last) return errors::InvalidArgument("indices must be in order, and must not repeat; see element ", i);
    last = flat;
    ++m->row_begins[flat / shape.dim(rank - 1) + 1];
    m->columns.push_back(static_cast<int32_t>(at[rank - 1]));
  }
  for (size_t r = 1; r < m->row_begins.size(); ++r) m->row_begins[r] += m->row_begins[r - 1];
  return m;
}

Status FromSparseTensor(KernelContext& ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(1), &sizes = ctx.input(2);
  if (sizes.rank() != 1) return errors::InvalidArgument("dense_shape must be rank 1, got ", sizes.shape().ToString());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes.flat<int64_t>()));
  ASSIGN_OR_RETURN(Ref<CsrMatrix> m, FromIndices(indices, shape));
  if (values.rank() != 1 || values.dim(0) != m->nnz()) {
    return errors::InvalidArgument("values must be as many as indices, got ", values.shape().ToString());
  }
  ASSIGN_OR_RETURN(m->values, values.Clone());
  return SetCsrOutput(ctx, 0, std::move(m));
}

// The elements of a dense tensor at the given places.
Status FromDense(KernelContext& ctx) {
  const Tensor& dense = ctx.input(0);
  ASSIGN_OR_RETURN(Ref<CsrMatrix> m, FromIndices(ctx.input(1), dense.shape()));
  ASSIGN_OR_RETURN(m->values, Tensor::Make(dense.dtype(), Shape({m->nnz()})));
  DispatchBlob(dense.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (int64_t row = 0, k = 0; row < m->batch() * m->rows(); ++row) {
      for (; k < m->row_begins[row + 1]; ++k) {
        BlobData<T>(&m->values)[k] = BlobData<T>(dense)[row * m->cols() + m->columns[k]];
      }
    }
  });
  return SetCsrOutput(ctx, 0, std::move(m));
}

class ToDense final : public Kernel {
 public:
  explicit ToDense(KernelInit& init) : type_(init.Attr<DType>("type")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, type_));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, m->shape));
    FillZero(ctx, out);
    DispatchBlob(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for (int64_t row = 0; row < m->batch() * m->rows(); ++row) {
        for (int64_t k = m->row_begins[row]; k < m->row_begins[row + 1]; ++k) {
          BlobData<T>(out)[row * m->cols() + m->columns[k]] = BlobData<T>(m->values)[k];
        }
      }
    });
    return OkStatus();
  }

 private:
  const DType type_;
};

class ToSparseTensor final : public Kernel {
 public:
  explicit ToSparseTensor(KernelInit& init) : type_(init.Attr<DType>("type")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, type_));
    const int rank = m->shape.rank();
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({m->nnz(), rank})));
    ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(2, Shape({rank})));
    ctx.set_output(1, m->values);
    std::copy(m->shape.dims().begin(), m->shape.dims().end(), sizes->data<int64_t>());
    int64_t* at = indices->data<int64_t>();
    for (int64_t row = 0; row < m->batch() * m->rows(); ++row) {
      for (int64_t k = m->row_begins[row]; k < m->row_begins[row + 1]; ++k) {
        if (rank == 3) *at++ = row / m->rows();
        *at++ = row % m->rows();
        *at++ = m->columns[k];
      }
    }
    return OkStatus();
  }

 private:
  const DType type_;
};

// Row pointers, columns and values of one matrix of the batch.
class Components final : public Kernel {
 public:
  explicit Components(KernelInit& init) : type_(init.Attr<DType>("type")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, type_));
    const Tensor& index = ctx.input(1);
    if (index.rank() != 0) return errors::InvalidArgument("index must be a scalar, got ", index.shape().ToString());
    const int32_t b = index.scalar<int32_t>();
    if (b < 0 || b >= m->batch()) return errors::InvalidArgument("index (", b, ") not in [0, ", m->batch(), ")");
    const int64_t first = m->row_begins[b * m->rows()], last = m->row_begins[(b + 1) * m->rows()];
    ASSIGN_OR_RETURN(Tensor * rows, ctx.AllocateOutput(0, Shape({m->rows() + 1})));
    ASSIGN_OR_RETURN(Tensor * columns, ctx.AllocateOutput(1, Shape({last - first})));
    for (int64_t r = 0; r <= m->rows(); ++r) {
      rows->data<int32_t>()[r] = static_cast<int32_t>(m->row_begins[b * m->rows() + r] - first);
    }
    std::copy(m->columns.begin() + first, m->columns.begin() + last, columns->data<int32_t>());
    ASSIGN_OR_RETURN(Tensor values, m->values.SliceRows(first, last).Clone());
    ctx.set_output(2, std::move(values));
    return OkStatus();
  }

 private:
  const DType type_;
};

Status NnzCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, DType::kInvalid));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, m->shape.rank() == 3 ? Shape({m->batch()}) : Shape()));
  for (int64_t b = 0; b < m->batch(); ++b) {
    const int64_t count = m->row_begins[(b + 1) * m->rows()] - m->row_begins[b * m->rows()];
    out->data<int32_t>()[b] = static_cast<int32_t>(count);
  }
  return OkStatus();
}

class Transpose final : public Kernel {
 public:
  explicit Transpose(KernelInit& init) : type_(init.Attr<DType>("type")), conjugate_(init.Attr<bool>("conjugate")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, type_));
    ASSIGN_OR_RETURN(Ref<CsrMatrix> out, TransposeCsr(*m, conjugate_));
    return SetCsrOutput(ctx, 0, std::move(out));
  }

 private:
  const DType type_;
  const bool conjugate_;
};

template <Status (*fn)(KernelContext&)>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return fn(ctx); }
};

Status FromSparseShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &unused));
  c.set_output(0, Shape());
  return OkStatus();
}
Status ScalarInputShape(ShapeContext& c) {
  PartialShape unused;
  return ShapeContext::WithRank(c.input(0), 0, &unused);
}
Status ScalarToScalarShape(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarInputShape(c));
  c.set_output(0, Shape());
  return OkStatus();
}
Status ToSparseShape(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarInputShape(c));
  c.set_output(0, PartialShape({-1, -1}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({-1}));
  return OkStatus();
}
Status ComponentsShape(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarInputShape(c));
  for (int i = 0; i < 3; ++i) c.set_output(i, PartialShape({-1}));
  return OkStatus();
}

OP("SparseTensorToCSRSparseMatrix")
    .Input("indices: int64")
    .Input("values: T")
    .Input("dense_shape: int64")
    .Output("sparse_matrix: variant")
    .Attr("T: {float, double, complex64, complex128}")
    .Shape(FromSparseShape)
    .CpuFor<FunctionKernel<FromSparseTensor>>(CsrTypes{})
    .Doc("Sparse matrices by rows, of a sparse tensor whose indices are in order.");
OP("DenseToCSRSparseMatrix")
    .Input("dense_input: T")
    .Input("indices: int64")
    .Output("sparse_output: variant")
    .Attr("T: {float, double, complex64, complex128}")
    .Shape(ScalarShape)
    .CpuFor<FunctionKernel<FromDense>>(CsrTypes{})
    .Doc("Sparse matrices by rows, of the elements of a dense tensor at the given places.");
OP("CSRSparseMatrixToDense")
    .Input("sparse_input: variant")
    .Output("dense_output: type")
    .Attr("type: {float, double, complex64, complex128}")
    .Shape(ScalarInputShape)
    .CpuFor<ToDense>(CsrTypes{}, "type")
    .Doc("The dense tensor of sparse matrices.");
OP("CSRSparseMatrixToSparseTensor")
    .Input("sparse_matrix: variant")
    .Output("indices: int64")
    .Output("values: type")
    .Output("dense_shape: int64")
    .Attr("type: {float, double, complex64, complex128}")
    .Shape(ToSparseShape)
    .CpuFor<ToSparseTensor>(CsrTypes{}, "type")
    .Doc("The sparse tensor of sparse matrices.");
OP("CSRSparseMatrixComponents")
    .Input("csr_sparse_matrix: variant")
    .Input("index: int32")
    .Output("row_ptrs: int32")
    .Output("col_inds: int32")
    .Output("values: type")
    .Attr("type: {float, double, complex64, complex128}")
    .Shape(ComponentsShape)
    .CpuFor<Components>(CsrTypes{}, "type")
    .Doc("Where rows begin, columns and values of one sparse matrix.");
OP("SparseMatrixNNZ")
    .Input("sparse_matrix: variant")
    .Output("nnz: int32")
    .Shape(ScalarInputShape)
    .Cpu(NnzCpu)
    .Doc("How many elements sparse matrices have.");
OP("SparseMatrixTranspose")
    .Input("input: variant")
    .Output("output: variant")
    .Attr("conjugate: bool = false")
    .Attr("type: {float, double, complex64, complex128}")
    .Shape(ScalarToScalarShape)
    .CpuFor<Transpose>(CsrTypes{}, "type")
    .Doc("Sparse matrices with rows and columns exchanged.");

}  // namespace
}  // namespace millstream
