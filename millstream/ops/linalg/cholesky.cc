// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/linalg/gradients.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

Status CholeskyCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  RETURN_IF_ERROR(CheckMatrices(in, true));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  return ForEachMatrix(ctx, 0.4, [&]<typename S>(Matrix<S> lower, int64_t b) {
    // TensorFlow says so in its log, and goes on.
    if (!math::Linalg<S>().cholesky(lower.rows, lower.v.data())) {
      for (int64_t i = 0; i < lower.rows; ++i)
        std::fill_n(&lower(i, 0), i + 1, S(std::numeric_limits<RealPart<S>>::quiet_NaN()));
    }
    WriteMatrix(lower, out, b);
    return OkStatus();
  });
}

template <typename S>
Matrix<S> LowerHalf(Matrix<S> m) {
  for (int64_t i = 0; i < m.rows; ++i) std::fill(&m.v[i * m.cols] + i + 1, &m.v[i * m.cols] + m.cols, S());
  return m;
}

// The gradient at a matrix whose factor is `l`, where `grad` arrives at the factor: with P = l^T grad, of which the
// lower half counts and the diagonal counts half, it is the symmetric part of l^-T P l^-1.
template <typename S>
Matrix<S> FactorGrad(const Matrix<S>& l, const Matrix<S>& grad, ThreadPool* pool) {
  const Matrix<S> adjoint = Adjoint(l);
  Matrix<S> middle = LowerHalf(Multiply(adjoint, grad));
  for (int64_t i = 0; i < l.rows; ++i) middle(i, i) *= S(0.5);
  Substitute(adjoint, {.lower = false}, &middle, pool);
  Matrix<S> sum = Adjoint(middle);
  Substitute(adjoint, {.lower = false}, &sum, pool);
  for (int64_t i = 0; i < l.rows; ++i) {
    for (int64_t j = 0; j <= i; ++j) sum(i, j) = sum(j, i) = (sum(i, j) + sum(j, i)) * S(0.5);
  }
  return sum;
}

Status CholeskyGradCpu(KernelContext& ctx) {
  const Tensor &l = ctx.input(0), &grad = ctx.input(1);
  RETURN_IF_ERROR(CheckMatrices(l, true));
  if (!(l.shape() == grad.shape())) {
    return errors::InvalidArgument("Inputs (L and grad) must have the same shape, got ", l.shape().ToString(), " and ",
                                   grad.shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, l.shape()));
  if (l.num_elements() == 0) return OkStatus();
  return ForEachMatrix(ctx, 4, [&]<typename S>(Matrix<S> factor, int64_t b) {
    WriteMatrix(FactorGrad(LowerHalf(std::move(factor)), LowerHalf(ReadMatrix<S>(grad, b)), ctx.pool()), out, b);
    return OkStatus();
  });
}

Status CholeskyGradient(GradContext& g) {
  const LinalgGrad m(g);
  const Output l = g.output(0);
  const Output inverse = g.Op("MatrixTriangularSolve", {l, m.IdentityLike(l)});
  Output middle = m.Product(l, g.dy(0), true, false);
  middle = g.Op("MatrixSetDiag", {middle, m.Mul(g.Op("MatrixDiagPart", {middle}), 0.5)});
  middle = m.LowerPart(middle);
  const Output dx = m.Product(m.Product(inverse, middle, true, false), inverse, false, false);
  g.set_dx(0, m.Mul(m.Add(dx, m.Adjoint(dx)), 0.5));
  return g.status();
}

OP("Cholesky")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SquareShape)
    .Gradient(CholeskyGradient)
    .CpuFor<LinalgFunction<CholeskyCpu>>(LinalgTypes{})
    .Expensive()
    .Doc("Lower triangular factors of positive definite matrices.");

OP("BatchCholesky")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float}")
    .Shape(UnknownShape)
    .CpuFor<LinalgFunction<CholeskyCpu>>(Types<float, double>{})
    .Expensive()
    .Doc("The old name of Cholesky.");

OP("CholeskyGrad")
    .Input("l: T")
    .Input("grad: T")
    .Output("output: T")
    .Attr("T: {half, float, double}")
    .Shape(SquareShape)
    .CpuFor<LinalgFunction<CholeskyGradCpu>>(Types<float, double>{})
    .Expensive()
    .Doc("The gradient of Cholesky, from its output and the gradient that arrives there.");

OP("BatchCholeskyGrad")
    .Input("l: T")
    .Input("grad: T")
    .Output("output: T")
    .Attr("T: {float, double}")
    .Shape(UnknownShape)
    .CpuFor<LinalgFunction<CholeskyGradCpu>>(Types<float, double>{})
    .Expensive()
    .Doc("The old name of CholeskyGrad.");

}  // namespace
}  // namespace millstream
