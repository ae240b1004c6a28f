// SPDX-License-Identifier: Apache-2.0
// Functions of square matrices without symmetry: roots, logarithms, eigenvalues.
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/linalg/factor_gradients.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

using CMatrix = Matrix<Complex>;

constexpr double kSchurCost = 100;
double Cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

// The iterations that find eigenvalues need finite numbers.
Status CheckFinite(const CMatrix& a, const char* message) {
  for (const Complex& x : a.v) {
    if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) return errors::InvalidArgument(message);
  }
  return OkStatus();
}

CMatrix ReadComplex(const Tensor& t, int64_t b) {
  if (IsComplex(t.dtype())) return ReadMatrix<Complex>(t, b);
  const Matrix<double> real = ReadMatrix<double>(t, b);
  CMatrix m(real.rows, real.cols);
  std::copy(real.v.begin(), real.v.end(), m.v.begin());
  return m;
}

template <void (*fn)(int64_t, const Complex*, Complex*)>
class MatrixFunction final : public Kernel {
 public:
  explicit MatrixFunction(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, true));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    const int64_t n = in.dim(in.rank() - 1);
    return ForEachInBatch(ctx, BatchOfMatrices(in), kSchurCost * Cube(n), [&](int64_t b) -> Status {
      const CMatrix a = ReadComplex(in, b);
      RETURN_IF_ERROR(CheckFinite(a, "Schur decomposition was not successful. The input might not be valid."));
      CMatrix result(n, n);
      fn(n, a.v.data(), result.v.data());
      WriteMatrix(result, out, b);
      return OkStatus();
    });
  }
};

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
    if (in.num_elements() == 0) return OkStatus();
    return ForEachInBatch(ctx, BatchOfMatrices(in), kSchurCost * Cube(n), [&](int64_t b) -> Status {
      constexpr const char* kFailed = "Eigen decomposition was not successful. The input might not be valid.";
      const CMatrix a = ReadComplex(in, b);
      RETURN_IF_ERROR(CheckFinite(a, kFailed));
      CMatrix values(1, n), vectors(vectors_ ? n : 0, n);
      if (!math::GeneralEigen(n, a.v.data(), values.v.data(), vectors_ ? vectors.v.data() : nullptr)) {
        return errors::InvalidArgument(kFailed);
      }
      WriteMatrix(values, e, b);
      if (vectors_) WriteMatrix(vectors, v, b);
      return OkStatus();
    });
  }

 private:
  const bool vectors_;
};

OP("MatrixSquareRoot")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SquareShape)
    .CpuFor<MatrixFunction<math::MatrixSquareRoot>>(LinalgTypes{})
    .Expensive()
    .Doc("Matrices whose products with themselves are the given ones.");

OP("MatrixLogarithm")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {complex64, complex128}")
    .Shape(SquareShape)
    .CpuFor<MatrixFunction<math::MatrixLogarithm>>(ComplexTypes{})
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
    .Gradient(GeneralEigGradient)
    .CpuFor<Eig>(LinalgTypes{})
    .Expensive()
    .Doc("Eigenvalues and eigenvectors, of length one, of square matrices.");

}  // namespace
}  // namespace millstream
