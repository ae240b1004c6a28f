// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_LINALG_SCHUR_H_
#define MILLSTREAM_OPS_LINALG_SCHUR_H_

#include "millstream/ops/linalg/matrix.h"

namespace millstream {

// a = q t q^H with t upper triangular, by shifted QR steps on a Hessenberg matrix. False if they do not converge, as
// for values that are not finite. REQUIRES: square.
bool Schur(const Matrix<Complex>& a, Matrix<Complex>* q, Matrix<Complex>* t);

// A square root and the logarithm of an upper triangular matrix; principal ones, where there are such.
Matrix<Complex> TriangularSquareRoot(const Matrix<Complex>& t);
Matrix<Complex> TriangularLogarithm(Matrix<Complex> t);

// Eigenvectors of an upper triangular matrix: column j belongs to t(j, j).
Matrix<Complex> TriangularEigenvectors(const Matrix<Complex>& t);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_LINALG_SCHUR_H_
