// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

template <typename S>
Matrix<S> Exponential(const Matrix<S>& a) {
  Matrix<S> out(a.rows, a.cols);
  const bool finite = std::all_of(a.v.begin(), a.v.end(), [](const S& x) { return std::isfinite(std::abs(x)); });
  if (finite) {
    math::MatrixExponential(a.rows, a.v.data(), out.v.data());
  } else {
    std::fill(out.v.begin(), out.v.end(), S(std::numeric_limits<double>::quiet_NaN()));
  }
  return out;
}

Status MatrixExponentialCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  RETURN_IF_ERROR(CheckMatrices(in, true));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  const auto n = static_cast<double>(in.dim(in.rank() - 1));
  return ComputeInDouble(in.dtype(), [&](auto type) {
    using S = typename decltype(type)::type;
    return ForEachInBatch(ctx, BatchOfMatrices(in), 20 * n * n * n, [&](int64_t b) {
      WriteMatrix(Exponential(ReadMatrix<S>(in, b)), out, b);
      return OkStatus();
    });
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
