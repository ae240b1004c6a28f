// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_LINALG_LINALG_H_
#define MILLSTREAM_MATH_LINALG_LINALG_H_

#include <complex>
#include <cstdint>

namespace millstream::math {

template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};

// Which part of a square matrix a triangular solve reads.
struct Triangle {
  bool lower = true;
  bool unit = false;     // the diagonal is taken as ones
  bool adjoint = false;  // solves with the adjoint of that part
};

// Factorizations of one dense, row-major matrix on the calling thread, by Eigen (ADR 24 says why Eigen, and for which
// types and instruction sets it is compiled). Thread-safe. Outputs must not overlap inputs unless "in place" is said.
template <typename T>
struct LinalgKernels {
  using Real = typename RealOf<T>::type;

  // In place: both factors of the n x n matrix with its rows exchanged; order[i] is the row that came to row i. Returns
  // the sign of the permutation.
  int (*lu)(int64_t n, T* a, int64_t* order);
  // In place: x (n x columns, rows `stride` apart) becomes the solution y of a y = x.
  void (*triangular_solve)(int64_t n, const T* a, Triangle triangle, T* x, int64_t columns, int64_t stride);
  // In place: the lower factor of a Hermitian matrix of which the lower half is read; zeros above. False if the matrix
  // is not positive definite.
  bool (*cholesky)(int64_t n, T* a);
  // c = a b, all dense: (m x k) (k x n).
  void (*product)(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c);
  // Householder's: a (m x n) = q (m x k) r (k x n). REQUIRES: k is m or min(m, n).
  void (*qr)(int64_t m, int64_t n, int64_t k, const T* a, T* q, T* r);
  // Eigenvalues in ascending order and, unless `vectors` is null, eigenvectors in columns. Reads the lower half. False
  // if the iteration does not converge.
  bool (*hermitian_eigen)(int64_t n, const T* a, Real* values, T* vectors);
  // a (m x n) = u diag(s) v^H, s descending; u and v have min(m, n) columns, or are square if `full`; values only if u
  // is null. False if `a` is not finite.
  bool (*svd)(int64_t m, int64_t n, const T* a, bool full, Real* s, T* u, T* v);
};

// The kernels for the instruction set in use (simd.h). There are some for double and std::complex<double>, and for
// float where HasFloatLinalg(); other types are converted by the caller.
template <typename T>
const LinalgKernels<T>& Linalg();
bool HasFloatLinalg();

// Functions of square matrices, for double and std::complex<double>; out must not overlap a. The logarithm and the
// square root are principal ones.
template <typename T>
void MatrixExponential(int64_t n, const T* a, T* out);
void MatrixLogarithm(int64_t n, const std::complex<double>* a, std::complex<double>* out);
void MatrixSquareRoot(int64_t n, const std::complex<double>* a, std::complex<double>* out);
// Eigenvalues and, unless `vectors` is null, eigenvectors of length one. False if the iteration does not converge.
bool GeneralEigen(int64_t n, const std::complex<double>* a, std::complex<double>* values,
                  std::complex<double>* vectors);
// The smallest x (n x columns) of all that make |a x - b| smallest, whatever the rank of a (m x n); rank-revealing QR.
template <typename T>
void LeastSquares(int64_t m, int64_t n, int64_t columns, const T* a, const T* b, T* x);

}  // namespace millstream::math

#endif  // MILLSTREAM_MATH_LINALG_LINALG_H_
