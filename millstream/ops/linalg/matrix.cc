// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/linalg/matrix.h"

#include <algorithm>

#include "absl/synchronization/mutex.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

constexpr double kNanosecondsPerOperation = 0.1, kNanosecondsPerMatrix = 300;

}  // namespace

template <typename S>
Matrix<S> Adjoint(const Matrix<S>& a) {
  Matrix<S> t(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.cols; ++j) t(j, i) = Conj(a(i, j));
  }
  return t;
}

template <typename S>
Matrix<S> Multiply(const Matrix<S>& a, const Matrix<S>& b) {
  Matrix<S> c(a.rows, b.cols);
  math::Linalg<S>().product(a.rows, b.cols, a.cols, a.v.data(), b.v.data(), c.v.data());
  return c;
}

template <typename S>
LuFactors<S> Lu(Matrix<S> a) {
  const int64_t n = a.rows;
  LuFactors<S> f;
  f.order.resize(static_cast<size_t>(n));
  f.sign = math::Linalg<S>().lu(n, a.v.data(), f.order.data());
  for (int64_t i = 0; i < n; ++i) f.singular = f.singular || a(i, i) == S();
  f.lu = std::move(a);
  return f;
}

template <typename S>
Matrix<S> LuSolve(const LuFactors<S>& f, const Matrix<S>& b, ThreadPool* pool) {
  const int64_t n = f.lu.rows;
  Matrix<S> x(n, b.cols);
  for (int64_t i = 0; i < n; ++i) std::copy_n(&b.v[f.order[i] * b.cols], b.cols, &x.v[i * b.cols]);
  Substitute(f.lu, {.lower = true, .unit = true}, &x, pool);
  Substitute(f.lu, {.lower = false}, &x, pool);
  return x;
}

template <typename S>
void Substitute(const Matrix<S>& m, math::Triangle triangle, Matrix<S>* x, ThreadPool* pool) {
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (x->cols + kColumns - 1) / kColumns;
  const double cost = kNanosecondsPerOperation * static_cast<double>(m.rows * m.rows * kColumns);
  pool->ParallelFor(blocks, cost, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t from = block * kColumns, columns = std::min(kColumns, x->cols - from);
      math::Linalg<S>().triangular_solve(m.rows, m.v.data(), triangle, x->v.data() + from, columns, x->cols);
    }
  });
}

template <typename S>
Matrix<S> ReadMatrix(const Tensor& t, int64_t b) {
  const int64_t rows = t.dim(t.rank() - 2), cols = t.dim(t.rank() - 1);
  Matrix<S> m(rows, cols);
  DispatchOver(Join<FloatTypes, ComplexTypes>{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* x = t.data<T>() + b * rows * cols;
    for (int64_t i = 0; i < rows * cols; ++i) {
      if constexpr (kIsComplex<T>) {
        if constexpr (std::is_same_v<S, Complex>) m.v[i] = S(x[i].real(), x[i].imag());
      } else {
        m.v[i] = S(static_cast<RealPart<S>>(static_cast<Compute<T>>(x[i])));
      }
    }
  });
  return m;
}

template <typename S>
void WriteElements(const S* values, int64_t n, Tensor* t, int64_t begin) {
  DispatchOver(Join<FloatTypes, ComplexTypes>{}, t->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = t->data<T>() + begin;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (kIsComplex<T>) {
        using R = typename T::value_type;
        to[i] = T(static_cast<R>(std::real(values[i])), static_cast<R>(std::imag(values[i])));
      } else {
        to[i] = static_cast<T>(static_cast<Compute<T>>(std::real(values[i])));
      }
    }
  });
}

template <typename S>
void WriteMatrix(const Matrix<S>& m, Tensor* t, int64_t b) {
  const auto n = static_cast<int64_t>(m.v.size());
  WriteElements(m.v.data(), n, t, b * n);
}

Status ForEachInBatch(KernelContext& ctx, int64_t batch, double cost, absl::FunctionRef<Status(int64_t)> fn) {
  if (batch == 1) return fn(0);
  absl::Mutex mu;
  int64_t first = batch;
  Status error;
  ctx.ParallelFor(batch, kNanosecondsPerOperation * cost + kNanosecondsPerMatrix, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      Status status = fn(b);
      if (status.ok()) continue;
      const absl::MutexLock lock(&mu);
      if (b < first) {
        first = b;
        error = std::move(status);
      }
      return;
    }
  });
  return error;
}

Status CheckMatrices(const Tensor& t, bool square) {
  if (t.rank() < 2) return errors::InvalidArgument("Input tensor must have rank >= 2, got ", t.rank());
  if (!square || t.dim(t.rank() - 1) == t.dim(t.rank() - 2)) return OkStatus();
  return errors::InvalidArgument("Input matrix must be square, got ", t.dim(t.rank() - 2), " != ", t.dim(t.rank() - 1));
}

Status SquareMatrices(const ShapeContext& c, int i, PartialShape* out) {
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(i), 2, out));
  if (!out->rank_known()) return OkStatus();
  int64_t n = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(out->dim(out->rank() - 2), out->dim(out->rank() - 1), &n));
  out->set_dim(out->rank() - 2, n);
  out->set_dim(out->rank() - 1, n);
  return OkStatus();
}

Status SquareShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(SquareMatrices(c, 0, &in));
  c.set_output(0, std::move(in));
  return OkStatus();
}

Status EigenShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(SquareMatrices(c, 0, &in));
  bool vectors = false;
  RETURN_IF_ERROR(c.GetAttr("compute_v", &vectors));
  if (in.rank_known()) c.set_output(0, in.Slice(0, in.rank() - 1));
  c.set_output(1, vectors ? in : PartialShape({0}));
  return OkStatus();
}

#define INSTANTIATE(S)                                                                 \
  template Matrix<S> Adjoint(const Matrix<S>&);                                        \
  template Matrix<S> Multiply(const Matrix<S>&, const Matrix<S>&);                     \
  template LuFactors<S> Lu(Matrix<S>);                                                 \
  template Matrix<S> LuSolve(const LuFactors<S>&, const Matrix<S>&, ThreadPool*);      \
  template void Substitute(const Matrix<S>&, math::Triangle, Matrix<S>*, ThreadPool*); \
  template Matrix<S> ReadMatrix(const Tensor&, int64_t);                               \
  template void WriteMatrix(const Matrix<S>&, Tensor*, int64_t);                       \
  template void WriteElements(const S*, int64_t, Tensor*, int64_t)
INSTANTIATE(float);
INSTANTIATE(double);
INSTANTIATE(Complex);
#undef INSTANTIATE

}  // namespace millstream
