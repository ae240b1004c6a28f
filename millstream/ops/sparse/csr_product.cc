// SPDX-License-Identifier: Apache-2.0
// Products of sparse matrices by rows.
#include <algorithm>

#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/csr_matrix.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// How an operand is read.
struct Turn {
  bool transpose = false, conjugate = false;
  static Turn Read(KernelInit& init, const char* transpose, const char* adjoint) {
    const auto t = init.Attr<bool>(transpose), a = init.Attr<bool>(adjoint);
    if (t && a) init.Fail(errors::InvalidArgument("Only one of ", adjoint, " and ", transpose, " may be true."));
    return {t || a, a};
  }
};

// The operand as it is read: itself, or one made for that, which `held` keeps.
StatusOr<const CsrMatrix*> Turned(const CsrMatrix* m, const Turn& turn, Ref<CsrMatrix>* held) {
  if (!turn.transpose) return m;
  ASSIGN_OR_RETURN(*held, TransposeCsr(*m, turn.conjugate));
  return static_cast<const CsrMatrix*>(held->get());
}

class SparseDense final : public Kernel {
 public:
  explicit SparseDense(KernelInit& init)
      : a_(Turn::Read(init, "transpose_a", "adjoint_a")),
        b_(Turn::Read(init, "transpose_b", "adjoint_b")),
        transpose_out_(init.Attr<bool>("transpose_output")),
        conjugate_out_(init.Attr<bool>("conjugate_output")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& b = ctx.input(1);
    ASSIGN_OR_RETURN(const CsrMatrix* in, CsrInput(ctx, 0, b.dtype()));
    Ref<CsrMatrix> held;
    ASSIGN_OR_RETURN(const CsrMatrix* a, Turned(in, a_, &held));
    if (b.rank() != a->shape.rank()) {
      return errors::InvalidArgument("Only batch dimensions of equal rank are supported: ", a->shape.ToString(),
                                     " and ", b.shape().ToString());
    }
    const int64_t k = b.dim(b.rank() - (b_.transpose ? 1 : 2)), n = b.dim(b.rank() - (b_.transpose ? 2 : 1));
    if (b.rank() == 3 && b.dim(0) != a->batch()) {
      return errors::InvalidArgument("Batch sizes do not match: ", a->batch(), " and ", b.dim(0));
    }
    if (a->cols() != k) {
      return errors::InvalidArgument("Inner product dimensions of A and B do not agree. Shapes are: ",
                                     a->shape.ToString(), " vs. ", b.shape().ToString());
    }
    std::vector<int64_t> dims;
    if (b.rank() == 3) dims.push_back(a->batch());
    dims.insert(dims.end(), {transpose_out_ ? n : a->rows(), transpose_out_ ? a->rows() : n});
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillZero(ctx, out);
    DispatchOver(CsrTypes{}, b.dtype(), [&](auto type) {
      Multiply(ctx, *a, b.data<typename decltype(type)::type>(), k, n, out->data<typename decltype(type)::type>());
    });
    return OkStatus();
  }

 private:
  template <typename T>
  void Multiply(const KernelContext& ctx, const CsrMatrix& a, const T* b, int64_t k, int64_t n, T* out) const {
    const int64_t rows = a.rows();
    const double cost = 2.0 * static_cast<double>(n) * static_cast<double>(a.nnz() + 1) /
                        static_cast<double>(std::max<int64_t>(1, a.batch() * rows));
    ctx.ParallelFor(a.batch() * rows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t batch = row / rows, r = row % rows;
        const T* from = b + batch * k * n;
        T* to = out + batch * rows * n + (transpose_out_ ? r : r * n);
        const int64_t step = transpose_out_ ? rows : 1;
        for (int64_t e = a.row_begins[row]; e < a.row_begins[row + 1]; ++e) {
          const T x = a.values.data<T>()[e];
          const int64_t c = a.columns[e];
          for (int64_t j = 0; j < n; ++j) {
            to[j * step] += x * ConjugateIf(from[b_.transpose ? j * k + c : c * n + j], b_.conjugate);
          }
        }
        for (int64_t j = 0; conjugate_out_ && j < n; ++j) to[j * step] = ConjugateIf(to[j * step], true);
      }
    });
  }

  const Turn a_, b_;
  const bool transpose_out_, conjugate_out_;
};

// Gustavson's: rows of b, weighted by a row of a, added up. Elements that add up to zero are kept.
template <typename T>
Status MultiplySparse(const CsrMatrix& a, const CsrMatrix& b, CsrMatrix* out) {
  std::vector<T> values, sums(static_cast<size_t>(b.cols()));
  std::vector<bool> used(sums.size(), false);
  std::vector<int32_t> columns;
  out->row_begins.assign(1, 0);
  for (int64_t row = 0; row < a.batch() * a.rows(); ++row) {
    columns.clear();
    const int64_t batch = row / a.rows();
    for (int64_t e = a.row_begins[row]; e < a.row_begins[row + 1]; ++e) {
      for (int64_t f = b.begin(batch, a.columns[e]); f < b.end(batch, a.columns[e]); ++f) {
        const int32_t c = b.columns[f];
        if (!used[c]) columns.push_back(c);
        used[c] = true;
        sums[c] += a.values.data<T>()[e] * b.values.data<T>()[f];
      }
    }
    std::sort(columns.begin(), columns.end());
    for (const int32_t c : columns) {
      out->columns.push_back(c);
      values.push_back(sums[c]);
      sums[c] = T();
      used[c] = false;
    }
    out->row_begins.push_back(static_cast<int64_t>(values.size()));
  }
  ASSIGN_OR_RETURN(out->values, Tensor::Make(kDTypeOf<T>, Shape({static_cast<int64_t>(values.size())})));
  std::copy(values.begin(), values.end(), out->values.data<T>());
  return OkStatus();
}

class SparseSparse final : public Kernel {
 public:
  explicit SparseSparse(KernelInit& init)
      : type_(init.Attr<DType>("type")),
        a_(Turn::Read(init, "transpose_a", "adjoint_a")),
        b_(Turn::Read(init, "transpose_b", "adjoint_b")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* first, CsrInput(ctx, 0, type_));
    ASSIGN_OR_RETURN(const CsrMatrix* second, CsrInput(ctx, 1, type_));
    Ref<CsrMatrix> held_a, held_b;
    ASSIGN_OR_RETURN(const CsrMatrix* a, Turned(first, a_, &held_a));
    ASSIGN_OR_RETURN(const CsrMatrix* b, Turned(second, b_, &held_b));
    if (a->shape.rank() != b->shape.rank() || a->batch() != b->batch()) {
      return errors::InvalidArgument("Ranks and batch sizes of A and B must be the same: ", a->shape.ToString(),
                                     " and ", b->shape.ToString());
    }
    if (a->cols() != b->rows()) {
      return errors::InvalidArgument("Inner product dimensions of A and B do not agree. Shapes are: ",
                                     a->shape.ToString(), " vs. ", b->shape.ToString());
    }
    auto out = MakeRef<CsrMatrix>();
    out->shape = a->shape.rank() == 3 ? Shape({a->batch(), a->rows(), b->cols()}) : Shape({a->rows(), b->cols()});
    RETURN_IF_ERROR(CheckCsrShape(out->shape));
    Status status;
    DispatchOver(CsrTypes{}, type_,
                 [&](auto type) { status = MultiplySparse<typename decltype(type)::type>(*a, *b, out.get()); });
    RETURN_IF_ERROR(status);
    return SetCsrOutput(ctx, 0, std::move(out));
  }

 private:
  const DType type_;
  const Turn a_, b_;
};

Status SparseDenseShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 2, &unused));
  return ShapeContext::WithRankAtMost(c.input(1), 3, &unused);
}
Status SparseSparseShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &unused));
  c.set_output(0, Shape());
  return OkStatus();
}

OP("SparseMatrixMatMul")
    .Input("a: variant")
    .Input("b: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("adjoint_a: bool = false")
    .Attr("adjoint_b: bool = false")
    .Attr("transpose_output: bool = false")
    .Attr("conjugate_output: bool = false")
    .Shape(SparseDenseShape)
    .CpuFor<SparseDense>(CsrTypes{})
    .Doc("Products of sparse matrices by rows and dense ones.");
OP("SparseMatrixSparseMatMul")
    .Input("a: variant")
    .Input("b: variant")
    .Output("c: variant")
    .Attr("type: {float, double, complex64, complex128}")
    .Attr("transpose_a: bool = false")
    .Attr("transpose_b: bool = false")
    .Attr("adjoint_a: bool = false")
    .Attr("adjoint_b: bool = false")
    .Shape(SparseSparseShape)
    .CpuFor<SparseSparse>(CsrTypes{}, "type")
    .Doc("Products of sparse matrices by rows.");

}  // namespace
}  // namespace millstream
