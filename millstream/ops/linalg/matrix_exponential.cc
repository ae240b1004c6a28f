// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

// The largest sum of sizes in a row.
template <typename S>
double RowNorm(const Matrix<S>& a) {
  double norm = 0;
  for (int64_t i = 0; i < a.rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < a.cols; ++j) sum += std::abs(a(i, j));
    if (!(sum <= norm)) norm = sum;
  }
  return norm;
}

// exp(a) = exp(a / 2^k)^(2^k), with k so large that the series ends soon.
template <typename S>
Matrix<S> Exponential(Matrix<S> a) {
  constexpr int kTerms = 20;
  const double norm = RowNorm(a);
  if (!std::isfinite(norm)) {
    std::fill(a.v.begin(), a.v.end(), S(std::numeric_limits<double>::quiet_NaN()));
    return a;
  }
  const int halvings = norm > 0.5 ? std::ilogb(norm) + 2 : 0;
  for (S& x : a.v) x = x * std::ldexp(1.0, -halvings);
  // 1 + a (1 + a/2 (1 + a/3 (...)))
  Matrix<S> sum = Matrix<S>::Identity(a.rows);
  for (int k = kTerms; k > 0; --k) {
    sum = Multiply(a, sum);
    for (S& x : sum.v) x /= k;
    for (int64_t i = 0; i < a.rows; ++i) sum(i, i) += 1;
  }
  for (int i = 0; i < halvings; ++i) sum = Multiply(sum, sum);
  return sum;
}

Status MatrixExponentialCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  RETURN_IF_ERROR(CheckMatrices(in, true));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  return ComputeIn(in.dtype(), [&](auto type) -> Status {
    using S = typename decltype(type)::type;
    for (int64_t b = 0; in.num_elements() > 0 && b < BatchOfMatrices(in); ++b) {
      WriteMatrix(Exponential(ReadMatrix<S>(in, b)), out, b);
    }
    return OkStatus();
  });
}

OP("MatrixExponential")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SquareShape)
    .CpuFor<LinalgFunction<MatrixExponentialCpu>>(Types<float, double, std::complex<float>, std::complex<double>>{})
    .Expensive()
    .Doc("Exponentials of matrices.");

}  // namespace
}  // namespace millstream
