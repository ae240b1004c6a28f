// SPDX-License-Identifier: Apache-2.0
// Inverses and determinants.
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/ops/linalg/gradients.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

class MatrixInverse : public Kernel {
 public:
  explicit MatrixInverse(KernelInit& init) : adjoint_(init.Attr<bool>("adjoint")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, true));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    return ForEachMatrix(ctx, 2, [&]<typename S>(const Matrix<S>& a, int64_t b) -> Status {
      const LuFactors<S> f = Lu(adjoint_ ? Adjoint(a) : a);
      if (f.singular) return errors::InvalidArgument("Input is not invertible.");
      WriteMatrix(LuSolve(f, Matrix<S>::Identity(a.rows), ctx.pool()), out, b);
      return OkStatus();
    });
  }

 private:
  const bool adjoint_;
};

// The direction of a number that is not zero; an infinite real one has a direction too.
template <typename R>
R Direction(R x) {
  return std::isnan(x) ? x : std::copysign(R(1), x);
}
Complex Direction(Complex x) { return x / std::abs(x); }

// The determinant as sign * exp(log): products of many numbers leave the range.
template <typename S>
void Determinant(Matrix<S> a, S* sign, double* log) {
  const LuFactors<S> f = Lu(std::move(a));
  *sign = S(f.sign);
  *log = 0;
  for (int64_t i = 0; i < f.lu.rows; ++i) {
    const double size = std::abs(f.lu(i, i));
    *sign = size == 0 ? S() : *sign * Direction(f.lu(i, i));
    *log += std::log(size);
  }
}

template <bool logarithm>
class MatrixDeterminant : public Kernel {
 public:
  explicit MatrixDeterminant(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, true));
    const Shape batch(in.shape().dims().first(in.rank() - 2));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, batch));
    Tensor* logs = nullptr;
    if constexpr (logarithm) {
      ASSIGN_OR_RETURN(logs, ctx.AllocateOutput(1, batch));
    }
    return ForEachMatrix(ctx, 0.7, [&]<typename S>(Matrix<S> a, int64_t b) {
      S sign;
      double log = 0;
      Determinant(std::move(a), &sign, &log);
      const S value = logarithm ? sign : sign * static_cast<RealPart<S>>(std::exp(log));
      WriteElements(&value, 1, out, b);
      if (logarithm) WriteElements(&log, 1, logs, b);
      return OkStatus();
    });
  }
};

Status DeterminantShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(SquareMatrices(c, 0, &in));
  if (!in.rank_known()) return OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, in.Slice(0, in.rank() - 2));
  return OkStatus();
}

Status InverseGrad(GradContext& g) {
  const LinalgGrad m(g);
  const auto adjoint = g.Attr<bool>("adjoint");
  const Output y = g.output(0);
  g.set_dx(0, m.Neg(m.Product(y, m.Product(g.dy(0), y, adjoint, !adjoint), !adjoint, false)));
  return g.status();
}
Status DeterminantGrad(GradContext& g) {
  const LinalgGrad m(g);
  const Output inverse = g.Op("MatrixInverse", {g.input(0)}, {{"adjoint", true}});
  g.set_dx(0, m.Mul(m.AsMatrices(m.Mul(g.dy(0), g.output(0))), inverse));
  return g.status();
}
Status LogDeterminantGrad(GradContext& g) {
  const LinalgGrad m(g);
  const Output inverse = g.Op("MatrixInverse", {g.input(0)}, {{"adjoint", true}});
  g.set_dx(0, m.Mul(m.AsMatrices(g.dy(1)), inverse));
  return g.status();
}

OP("MatrixInverse")
    .Input("input: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SquareShape)
    .Gradient(InverseGrad)
    .CpuFor<MatrixInverse>(Join<LinalgTypes, Types<Half>>{})
    .Expensive()
    .Doc("Inverses of matrices, or of their adjoints.");

OP("MatrixDeterminant")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {half, float, double, complex64, complex128}")
    .Shape(DeterminantShape)
    .Gradient(DeterminantGrad)
    .CpuFor<MatrixDeterminant<false>>(LinalgTypes{})
    .Expensive()
    .Doc("Determinants of matrices.");

OP("LogMatrixDeterminant")
    .Input("input: T")
    .Output("sign: T")
    .Output("log_abs_determinant: T")
    .Attr("T: {half, float, double, complex64, complex128}")
    .Shape(DeterminantShape)
    .Gradient(LogDeterminantGrad)
    .CpuFor<MatrixDeterminant<true>>(LinalgTypes{})
    .Expensive()
    .Doc("Signs of determinants and logarithms of their sizes.");

OP("BatchMatrixInverse")
    .Input("input: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .Attr("T: {double, float}")
    .Shape(UnknownShape)
    .CpuFor<MatrixInverse>(Types<float, double>{})
    .Expensive()
    .Doc("The old name of MatrixInverse.");

OP("BatchMatrixDeterminant")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {float, double, complex64, complex128}")
    .Shape(UnknownShape)
    .CpuFor<MatrixDeterminant<false>>(LinalgTypes{})
    .Expensive()
    .Doc("The old name of MatrixDeterminant.");

}  // namespace
}  // namespace millstream
