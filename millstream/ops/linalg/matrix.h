// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_LINALG_MATRIX_H_
#define MILLSTREAM_OPS_LINALG_MATRIX_H_

#include <algorithm>
#include <complex>
#include <vector>

#include "absl/functional/function_ref.h"
#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"
#include "millstream/math/linalg/linalg.h"

namespace millstream {

// A dense, row-major matrix of the type that factorizations compute in: float where math::HasFloatLinalg(), double, or
// complex double.
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
template <typename S>
using RealPart = typename math::RealOf<S>::type;
inline float Conj(float x) { return x; }
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
// Both solve their columns in blocks on `pool`; how many threads it has does not change the result.
template <typename S>
Matrix<S> LuSolve(const LuFactors<S>& f, const Matrix<S>& b, ThreadPool* pool);
// x becomes the solution y of m y = x. REQUIRES: m is square.
template <typename S>
void Substitute(const Matrix<S>& m, math::Triangle triangle, Matrix<S>* x, ThreadPool* pool);

// Matrix number b of the last two dimensions of `t`, and back, converted.
template <typename S>
Matrix<S> ReadMatrix(const Tensor& t, int64_t b);
template <typename S>
void WriteMatrix(const Matrix<S>& m, Tensor* t, int64_t b);
// n numbers to the elements of a tensor from `begin` on, converted.
template <typename S>
void WriteElements(const S* values, int64_t n, Tensor* t, int64_t begin);

// InvalidArgument unless the last two dimensions are matrices, and square if asked.
Status CheckMatrices(const Tensor& t, bool square);
inline int64_t BatchOfMatrices(const Tensor& t) { return t.shape().Product(0, t.rank() - 2); }

// Calls fn(std::type_identity<S>) with the type to compute in.
template <typename Fn>
Status ComputeIn(DType dtype, Fn fn) {
  if (IsComplex(dtype)) return fn(std::type_identity<Complex>{});
  if (dtype != DType::kDouble && math::HasFloatLinalg()) return fn(std::type_identity<float>{});
  return fn(std::type_identity<double>{});
}

// The same with double or complex double, for what is compiled for these alone.
template <typename Fn>
Status ComputeInDouble(DType dtype, Fn fn) {
  return IsComplex(dtype) ? fn(std::type_identity<Complex>{}) : fn(std::type_identity<double>{});
}

// Calls fn(b) for 0 <= b < batch, on all threads where that pays, and returns the error of the lowest b that fails.
// `cost` is that of one call in floating-point operations.
Status ForEachInBatch(KernelContext& ctx, int64_t batch, double cost, absl::FunctionRef<Status(int64_t)> fn);

// A kernel without state, for types that are listed.
template <Status (*fn)(KernelContext&)>
class LinalgFunction : public Kernel {
 public:
  explicit LinalgFunction(KernelInit&) {}
  Status Compute(KernelContext& ctx) override { return fn(ctx); }
};

// Calls fn(matrix, b) for matrix number b of input 0, a Matrix<S> of the type to compute in, by ForEachInBatch. An
// element costs about as many operations as the smaller dimension of a matrix, times `factor`.
template <typename Fn>
Status ForEachMatrix(KernelContext& ctx, double factor, Fn fn) {
  const Tensor& t = ctx.input(0);
  const auto m = static_cast<double>(t.dim(t.rank() - 2)), n = static_cast<double>(t.dim(t.rank() - 1));
  return ComputeIn(t.dtype(), [&](auto type) {
    using S = typename decltype(type)::type;
    return ForEachInBatch(ctx, BatchOfMatrices(t), factor * m * n * std::min(m, n),
                          [&](int64_t b) -> Status { return fn(ReadMatrix<S>(t, b), b); });
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
