// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_LINALG_MATRIX_H_
#define MILLSTREAM_OPS_LINALG_MATRIX_H_

#include <complex>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"

namespace millstream {

// A dense matrix of doubles or complex doubles: factorizations compute in the widest type, so that one version of each
// serves all.
template <typename S>
struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<S> v;

  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), cols(c), v(static_cast<size_t>(r * c), S()) {}
  static Matrix Identity(int64_t n) {
    Matrix m(n, n);
    for (int64_t i = 0; i < n; ++i) m(i, i) = S(1);
    return m;
  }
  S& operator()(int64_t i, int64_t j) { return v[i * cols + j]; }
  const S& operator()(int64_t i, int64_t j) const { return v[i * cols + j]; }
};

// What most kernels are registered for.
using LinalgTypes = Types<float, double, std::complex<float>, std::complex<double>>;

using Complex = std::complex<double>;
inline double Conj(double x) { return x; }
inline Complex Conj(Complex x) { return std::conj(x); }

template <typename S>
Matrix<S> Adjoint(const Matrix<S>& a);
template <typename S>
Matrix<S> Multiply(const Matrix<S>& a, const Matrix<S>& b);

// Rows exchanged so that the largest pivot comes first. lu holds both factors, order[i] the row that came to i.
template <typename S>
struct LuFactors {
  Matrix<S> lu;
  std::vector<int64_t> order;
  int sign = 1;  // of the permutation
  bool singular = false;
};
template <typename S>
LuFactors<S> Lu(Matrix<S> a);  // REQUIRES: square
template <typename S>
Matrix<S> LuSolve(const LuFactors<S>& f, const Matrix<S>& b);

// x becomes the solution of m y = x for a triangular m, of which one half is read. REQUIRES: m is square.
template <typename S>
void Substitute(const Matrix<S>& m, bool lower, Matrix<S>* x);

// The lower factor of a Hermitian matrix, of which the lower half is read. False if it is not positive.
template <typename S>
bool Cholesky(const Matrix<S>& a, Matrix<S>* lower);

// Householder's: a = q r; q is square.
template <typename S>
void Qr(const Matrix<S>& a, Matrix<S>* q, Matrix<S>* r);

// Jacobi's rotations. Eigenvalues grow; columns of `vectors` belong to them. Reads the lower half.
template <typename S>
void HermitianEigen(Matrix<S> a, std::vector<double>* values, Matrix<S>* vectors);

// One-sided rotations: a = u diag(s) v^H, s falls; u and v have min(rows, cols) columns, or are square if `full`.
template <typename S>
void Svd(const Matrix<S>& a, bool full, std::vector<double>* s, Matrix<S>* u, Matrix<S>* v);

// Matrix number b of the last two dimensions of `t`, and back, converted.
template <typename S>
Matrix<S> ReadMatrix(const Tensor& t, int64_t b);
template <typename S>
void WriteMatrix(const Matrix<S>& m, Tensor* t, int64_t b);
// One number to the place i of a tensor.
template <typename S>
void WriteElement(S value, Tensor* t, int64_t i);

// InvalidArgument unless the last two dimensions are matrices, and square if asked.
Status CheckMatrices(const Tensor& t, bool square);
inline int64_t BatchOfMatrices(const Tensor& t) { return t.shape().Product(0, t.rank() - 2); }

// Calls fn(std::type_identity<S>) with the type to compute in.
template <typename Fn>
Status ComputeIn(DType dtype, Fn fn) {
  return IsComplex(dtype) ? fn(std::type_identity<Complex>{}) : fn(std::type_identity<double>{});
}

// A kernel without state, for types that are listed.
template <Status (*fn)(KernelContext&)>
class LinalgFunction : public Kernel {
 public:
  explicit LinalgFunction(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return fn(ctx); }
};

// Calls fn(matrix, b) for matrix number b of `t`, a Matrix<S> of the type to compute in, until one fails.
template <typename Fn>
Status ForEachMatrix(const Tensor& t, Fn fn) {
  return ComputeIn(t.dtype(), [&](auto type) -> Status {
    using S = typename decltype(type)::type;
    for (int64_t b = 0; b < BatchOfMatrices(t); ++b) RETURN_IF_ERROR(fn(ReadMatrix<S>(t, b), b));
    return OkStatus();
  });
}

// For shape functions: *out is input i, square matrices in its last two dimensions.
Status SquareMatrices(const ShapeContext& c, int i, PartialShape* out);
// The shape function of ops whose output is like their input: square matrices.
Status SquareShape(ShapeContext& c);
// Of eigenvalues and, with the attr compute_v, eigenvectors of square matrices.
Status EigenShape(ShapeContext& c);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_LINALG_MATRIX_H_
