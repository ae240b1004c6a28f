// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/linalg/eigen_inl.h"
// After eigen_inl.h.
#include <eigen3/unsupported/Eigen/MatrixFunctions>

#include "millstream/math/linalg/linalg.h"

namespace millstream::math {
namespace {

template <typename T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using In = Eigen::Map<const RowMatrix<T>>;
template <typename T>
using Out = Eigen::Map<RowMatrix<T>>;
using Complex = std::complex<double>;

}  // namespace

template <typename T>
void MatrixExponential(int64_t n, const T* a, T* out) {
  const Matrix<T> matrix = In<T>(a, n, n);
  Out<T>(out, n, n) = matrix.exp();
}
template void MatrixExponential(int64_t, const double*, double*);
template void MatrixExponential(int64_t, const Complex*, Complex*);

void MatrixLogarithm(int64_t n, const Complex* a, Complex* out) {
  const Matrix<Complex> matrix = In<Complex>(a, n, n);
  Out<Complex>(out, n, n) = matrix.log();
}

void MatrixSquareRoot(int64_t n, const Complex* a, Complex* out) {
  const Matrix<Complex> matrix = In<Complex>(a, n, n);
  Out<Complex>(out, n, n) = matrix.sqrt();
}

bool GeneralEigen(int64_t n, const Complex* a, Complex* values, Complex* vectors) {
  const Eigen::ComplexEigenSolver<Matrix<Complex>> f(In<Complex>(a, n, n), vectors != nullptr);
  if (f.info() != Eigen::Success) return false;
  Eigen::Map<Eigen::VectorXcd>(values, n) = f.eigenvalues();
  if (vectors != nullptr) Out<Complex>(vectors, n, n) = f.eigenvectors();
  return true;
}

template <typename T>
void LeastSquares(int64_t m, int64_t n, int64_t columns, const T* a, const T* b, T* x) {
  const Eigen::CompleteOrthogonalDecomposition<Matrix<T>> f{In<T>(a, m, n)};
  Out<T>(x, n, columns) = f.solve(In<T>(b, m, columns));
}
template void LeastSquares(int64_t, int64_t, int64_t, const double*, const double*, double*);
template void LeastSquares(int64_t, int64_t, int64_t, const Complex*, const Complex*, Complex*);

}  // namespace millstream::math
