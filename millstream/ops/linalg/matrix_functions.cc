// SPDX-License-Identifier: Apache-2.0
// Functions of square matrices by their Schur form: roots, logarithms, eigenvalues of matrices without symmetry.
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/linalg/schur.h"

namespace millstream {
namespace {

using CMatrix = Matrix<Complex>;

void WriteAs(const CMatrix& m, Tensor* out, int64_t b) {
  if (IsComplex(out->dtype())) return WriteMatrix(m, out, b);
  Matrix<double> real(m.rows, m.cols);
  for (size_t i = 0; i < m.v.size(); ++i) real.v[i] = m.v[i].real();
  WriteMatrix(real, out, b);
}

CMatrix ReadComplex(const Tensor& t, int64_t b) {
  if (IsComplex(t.dtype())) return ReadMatrix<Complex>(t, b);
  const Matrix<double> real = ReadMatrix<double>(t, b);
  CMatrix m(real.rows, real.cols);
  std::copy(real.v.begin(), real.v.end(), m.v.begin());
  return m;
}

template <CMatrix (*fn)(const CMatrix&)>
class MatrixFunction final : public Kernel {
 public:
  explicit MatrixFunction(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, true));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    for (int64_t b = 0; in.num_elements() > 0 && b < BatchOfMatrices(in); ++b) {
      CMatrix q, t;
      if (!Schur(ReadComplex(in, b), &q, &t)) {
        return errors::InvalidArgument("Schur decomposition was not successful. The input might not be valid.");
      }
      WriteAs(Multiply(Multiply(q, fn(t)), Adjoint(q)), out, b);
    }
    return OkStatus();
  }
};

CMatrix SquareRoot(const CMatrix& t) { return TriangularSquareRoot(t); }
CMatrix Logarithm(const CMatrix& t) { return TriangularLogarithm(t); }

class Eig final : public Kernel {
 public:
  explicit Eig(KernelInit& init) : vectors_(init.Attr<bool>("compute_v")) {
    const DType in = init.input_types()[0],
                want = in == DType::kFloat || in == DType::kComplex64 ? DType::kComplex64 : DType::kComplex128;
    const DType given = init.output_types()[0];
    if (given != want) {
      init.Fail(errors::InvalidArgument("Invalid output dtype ", DTypeName(given), ", expected ", DTypeName(want)));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, true));
    const int64_t n = in.dim(in.rank() - 1);
    ASSIGN_OR_RETURN(Tensor * e, ctx.AllocateOutput(0, Shape(in.shape().dims().first(in.rank() - 1))));
    ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(1, vectors_ ? in.shape() : Shape({0})));
    for (int64_t b = 0; in.num_elements() > 0 && b < BatchOfMatrices(in); ++b) {
      CMatrix q, t;
      if (!Schur(ReadComplex(in, b), &q, &t)) {
        return errors::InvalidArgument("Eigen decomposition was not successful. The input might not be valid.");
      }
      for (int64_t i = 0; i < n; ++i) WriteElement(t(i, i), e, b * n + i);
      if (!vectors_) continue;
      CMatrix x = Multiply(q, TriangularEigenvectors(t));
      Normalize(&x);
      WriteMatrix(x, v, b);
    }
    return OkStatus();
  }

 private:
  // Columns get the length one.
  static void Normalize(CMatrix* x) {
    for (int64_t j = 0; j < x->cols; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < x->rows; ++i) sum += std::norm((*x)(i, j));
      for (int64_t i = 0; i < x->rows; ++i) (*x)(i, j) /= std::sqrt(sum);
    }
  }
  const bool vectors_;
};

OP("MatrixSquareRoot")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SquareShape)
    .CpuFor<MatrixFunction<SquareRoot>>(LinalgTypes{})
    .Expensive()
    .Doc("Matrices whose products with themselves are the given ones.");

OP("MatrixLogarithm")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {complex64, complex128}")
    .Shape(SquareShape)
    .CpuFor<MatrixFunction<Logarithm>>(ComplexTypes{})
    .Expensive()
    .Doc("Principal logarithms of matrices.");

OP("Eig")
    .Input("input: T")
    .Output("e: Tout")
    .Output("v: Tout")
    .Attr("compute_v: bool = true")
    .Attr("T: {float, double, complex64, complex128}")
    .Attr("Tout: {complex64, complex128}")
    .Shape(EigenShape)
    .CpuFor<Eig>(LinalgTypes{})
    .Expensive()
    .Doc("Eigenvalues and eigenvectors, of length one, of square matrices.");

}  // namespace
}  // namespace millstream
