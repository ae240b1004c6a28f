// SPDX-License-Identifier: Apache-2.0
// The functions of LinalgKernels. After eigen_inl.h, once per source: everything here is private to it.
#include "millstream/math/linalg/linalg.h"

namespace millstream::math {
namespace {

template <typename T>
struct EigenKernels {
  using Real = typename RealOf<T>::type;
  using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;  // columns: what the factorizations run along
  using In = Eigen::Map<const RowMatrix>;
  using Out = Eigen::Map<RowMatrix>;
  using Values = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>;
  using Columns = Eigen::Map<RowMatrix, 0, Eigen::OuterStride<>>;

  static int Lu(int64_t n, T* a, int64_t* order) {
    const Eigen::PartialPivLU<Matrix> f{In(a, n, n)};
    Out(a, n, n) = f.matrixLU();
    for (int64_t i = 0; i < n; ++i) order[f.permutationP().indices()[i]] = i;
    return static_cast<int>(f.permutationP().determinant());
  }

  template <typename Part>
  static void SolvePart(const Part& part, Triangle triangle, Columns* x) {
    if (triangle.unit) {
      if (triangle.lower) {
        part.template triangularView<Eigen::UnitLower>().solveInPlace(*x);
      } else {
        part.template triangularView<Eigen::UnitUpper>().solveInPlace(*x);
      }
    } else if (triangle.lower) {
      part.template triangularView<Eigen::Lower>().solveInPlace(*x);
    } else {
      part.template triangularView<Eigen::Upper>().solveInPlace(*x);
    }
  }
  static void TriangularSolve(int64_t n, const T* a, Triangle triangle, T* x, int64_t columns, int64_t stride) {
    Columns solution(x, n, columns, Eigen::OuterStride<>(stride));
    if (!triangle.adjoint) return SolvePart(In(a, n, n), triangle, &solution);
    triangle.lower = !triangle.lower;
    SolvePart(In(a, n, n).adjoint(), triangle, &solution);
  }

  static bool Cholesky(int64_t n, T* a) {
    Out matrix(a, n, n);
    const Eigen::LLT<Eigen::Ref<RowMatrix>> f(matrix);
    matrix.template triangularView<Eigen::StrictlyUpper>().setZero();
    return f.info() == Eigen::Success;
  }

  static void Product(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
    Out(c, m, n).noalias() = In(a, m, k) * In(b, k, n);
  }

  static void Qr(int64_t m, int64_t n, int64_t k, const T* a, T* q, T* r) {
    const Eigen::HouseholderQR<Matrix> f{In(a, m, n)};
    Matrix left = Matrix::Identity(m, k);
    left.applyOnTheLeft(f.householderQ());
    Out(q, m, k) = left;
    Out(r, k, n) = f.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
  }

  static bool HermitianEigen(int64_t n, const T* a, Real* values, T* vectors) {
    const Eigen::SelfAdjointEigenSolver<Matrix> f(
        In(a, n, n), vectors != nullptr ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    if (f.info() != Eigen::Success) return false;
    Values(values, n) = f.eigenvalues();
    if (vectors != nullptr) Out(vectors, n, n) = f.eigenvectors();
    return true;
  }

  static bool Svd(int64_t m, int64_t n, const T* a, bool full, Real* s, T* u, T* v) {
    const unsigned options = u == nullptr ? 0U
                             : full       ? unsigned{Eigen::ComputeFullU} | unsigned{Eigen::ComputeFullV}
                                          : unsigned{Eigen::ComputeThinU} | unsigned{Eigen::ComputeThinV};
    const Eigen::BDCSVD<Matrix> f(In(a, m, n), options);
    if (f.info() != Eigen::Success) return false;
    const int64_t k = std::min(m, n);
    Values(s, k) = f.singularValues();
    if (u == nullptr) return true;
    Out(u, m, full ? m : k) = f.matrixU();
    Out(v, n, full ? n : k) = f.matrixV();
    return true;
  }

  static constexpr LinalgKernels<T> Make() { return {Lu, TriangularSolve, Cholesky, Product, Qr, HermitianEigen, Svd}; }
};

}  // namespace
}  // namespace millstream::math
