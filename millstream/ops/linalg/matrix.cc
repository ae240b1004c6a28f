// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/linalg/matrix.h"

#include <algorithm>
#include <cmath>

#include "millstream/tensor/dispatch.h"

namespace millstream {

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
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.cols; ++k) {
      const S x = a(i, k);
      for (int64_t j = 0; j < b.cols; ++j) c(i, j) += x * b(k, j);
    }
  }
  return c;
}

template <typename S>
LuFactors<S> Lu(Matrix<S> a) {
  const int64_t n = a.rows;
  LuFactors<S> f;
  for (int64_t i = 0; i < n; ++i) f.order.push_back(i);
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    }
    if (std::abs(a(pivot, k)) == 0) {
      f.singular = true;
      continue;
    }
    if (pivot != k) {
      std::swap_ranges(&a(k, 0), &a(k, 0) + n, &a(pivot, 0));
      std::swap(f.order[k], f.order[pivot]);
      f.sign = -f.sign;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const S factor = a(i, k) /= a(k, k);
      for (int64_t j = k + 1; j < n; ++j) a(i, j) -= factor * a(k, j);
    }
  }
  f.lu = std::move(a);
  return f;
}

template <typename S>
Matrix<S> LuSolve(const LuFactors<S>& f, const Matrix<S>& b) {
  const int64_t n = f.lu.rows;
  Matrix<S> x(n, b.cols);
  for (int64_t i = 0; i < n; ++i) std::copy_n(&b.v[f.order[i] * b.cols], b.cols, &x.v[i * b.cols]);
  for (int64_t c = 0; c < b.cols; ++c) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < i; ++k) x(i, c) -= f.lu(i, k) * x(k, c);
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < n; ++k) x(i, c) -= f.lu(i, k) * x(k, c);
      x(i, c) /= f.lu(i, i);
    }
  }
  return x;
}

template <typename S>
void Substitute(const Matrix<S>& m, bool lower, Matrix<S>* x) {
  for (int64_t step = 0; step < m.rows; ++step) {
    const int64_t i = lower ? step : m.rows - 1 - step;
    for (int64_t c = 0; c < x->cols; ++c) {
      S sum = (*x)(i, c);
      for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : m.rows); ++k) sum -= m(i, k) * (*x)(k, c);
      (*x)(i, c) = sum / m(i, i);
    }
  }
}

template <typename S>
bool Cholesky(const Matrix<S>& a, Matrix<S>* lower) {
  const int64_t n = a.rows;
  Matrix<S>& l = *lower = Matrix<S>(n, n);
  for (int64_t j = 0; j < n; ++j) {
    double d = std::real(a(j, j));
    for (int64_t k = 0; k < j; ++k) d -= std::norm(l(j, k));
    if (!(d > 0)) return false;
    const double root = std::sqrt(d);
    l(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) {
      S sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= l(i, k) * Conj(l(j, k));
      l(i, j) = sum / root;
    }
  }
  return true;
}

template <typename S>
void Qr(const Matrix<S>& a, Matrix<S>* q, Matrix<S>* r) {
  const int64_t m = a.rows, n = a.cols;
  *r = a;
  *q = Matrix<S>::Identity(m);
  std::vector<S> w(static_cast<size_t>(m));
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    double tail = 0;
    for (int64_t i = k + 1; i < m; ++i) tail += std::norm((*r)(i, k));
    const S head = (*r)(k, k);
    if (tail == 0 && std::imag(head) == 0) continue;
    const double norm = std::sqrt(std::norm(head) + tail), beta = std::real(head) >= 0 ? -norm : norm;
    // H = 1 - tau w w^H with w(k) = 1 turns the column to (beta, 0, ...).
    w[k] = S(1);
    for (int64_t i = k + 1; i < m; ++i) w[i] = (*r)(i, k) / (head - S(beta));
    const S tau = (S(beta) - Conj(head)) / S(beta);
    for (int64_t j = k; j < n; ++j) {
      S sum = S();
      for (int64_t i = k; i < m; ++i) sum += Conj(w[i]) * (*r)(i, j);
      for (int64_t i = k; i < m; ++i) (*r)(i, j) -= tau * sum * w[i];
    }
    // q = q H^H, so that q r stays a.
    for (int64_t i = 0; i < m; ++i) {
      S sum = S();
      for (int64_t j = k; j < m; ++j) sum += (*q)(i, j) * w[j];
      for (int64_t j = k; j < m; ++j) (*q)(i, j) -= Conj(tau) * sum * Conj(w[j]);
    }
    for (int64_t i = k + 1; i < m; ++i) (*r)(i, k) = S();
  }
}

namespace {

// Columns by the order of their keys.
template <typename S>
void SortColumns(bool falling, std::vector<double>* keys, std::initializer_list<Matrix<S>*> matrices) {
  std::vector<int64_t> order(keys->size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return falling ? (*keys)[a] > (*keys)[b] : (*keys)[a] < (*keys)[b]; });
  std::vector<double> sorted;
  for (const int64_t i : order) sorted.push_back((*keys)[i]);
  for (Matrix<S>* m : matrices) {
    const Matrix<S> old = *m;
    for (int64_t j = 0; j < static_cast<int64_t>(order.size()); ++j) {
      for (int64_t i = 0; i < m->rows; ++i) (*m)(i, j) = old(i, order[j]);
    }
  }
  *keys = std::move(sorted);
}

// Columns p, q of m times [[c, s], [-conj(s), c]].
template <typename S>
void Rotate(Matrix<S>* m, int64_t p, int64_t q, double c, S s) {
  for (int64_t i = 0; i < m->rows; ++i) {
    const S x = (*m)(i, p), y = (*m)(i, q);
    (*m)(i, p) = c * x - Conj(s) * y;
    (*m)(i, q) = s * x + c * y;
  }
}

// The rotation that makes the off-diagonal b of [[a, b], [conj(b), d]] zero.
template <typename S>
void JacobiAngle(double a, S b, double d, double* c, S* s) {
  const double size = std::abs(b), tau = (d - a) / (2 * size);
  const double t = (tau >= 0 ? 1 : -1) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
  *c = 1 / std::sqrt(1 + t * t);
  *s = S(t * *c) * (b / size);
}

constexpr int kMaxSweeps = 60;

// Fills columns [from, m) of u, whose first `from` are orthonormal.
template <typename S>
void CompleteBasis(int64_t from, Matrix<S>* u) {
  const int64_t m = u->rows;
  for (int64_t j = from, e = 0; j < u->cols && e < m; ++e) {
    std::vector<S> w(static_cast<size_t>(m), S());
    w[e] = S(1);
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < j; ++k) {
        S dot = S();
        for (int64_t i = 0; i < m; ++i) dot += Conj((*u)(i, k)) * w[i];
        for (int64_t i = 0; i < m; ++i) w[i] -= dot * (*u)(i, k);
      }
    }
    double norm = 0;
    for (const S& x : w) norm += std::norm(x);
    norm = std::sqrt(norm);
    if (norm < 1e-6) continue;
    for (int64_t i = 0; i < m; ++i) (*u)(i, j) = w[i] / norm;
    ++j;
  }
}

}  // namespace

template <typename S>
void HermitianEigen(Matrix<S> a, std::vector<double>* values, Matrix<S>* vectors) {
  const int64_t n = a.rows;
  for (int64_t i = 0; i < n; ++i) {
    a(i, i) = S(std::real(a(i, i)));
    for (int64_t j = i + 1; j < n; ++j) a(i, j) = Conj(a(j, i));
  }
  *vectors = Matrix<S>::Identity(n);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool moved = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const S b = a(p, q);
        const double size = std::abs(b);
        if (size <= 1e-17 * (std::abs(a(p, p)) + std::abs(a(q, q))) || !(size > 0)) continue;
        moved = true;
        double c = 0;
        S s;
        JacobiAngle(std::real(a(p, p)), b, std::real(a(q, q)), &c, &s);
        Rotate(&a, p, q, c, s);
        for (int64_t j = 0; j < n; ++j) {
          const S x = a(p, j), y = a(q, j);
          a(p, j) = c * x - s * y;
          a(q, j) = Conj(s) * x + c * y;
        }
        a(p, q) = a(q, p) = S();
        Rotate(vectors, p, q, c, s);
      }
    }
    if (!moved) break;
  }
  values->clear();
  for (int64_t i = 0; i < n; ++i) values->push_back(std::real(a(i, i)));
  SortColumns(false, values, {vectors});
}

template <typename S>
void Svd(const Matrix<S>& a, bool full, std::vector<double>* s, Matrix<S>* u, Matrix<S>* v) {
  if (a.rows < a.cols) {
    Svd(Adjoint(a), full, s, v, u);
    return;
  }
  const int64_t m = a.rows, n = a.cols;
  Matrix<S> w = a;
  *v = Matrix<S>::Identity(n);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool moved = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double x = 0, y = 0;
        S dot = S();
        for (int64_t i = 0; i < m; ++i) {
          x += std::norm(w(i, p));
          y += std::norm(w(i, q));
          dot += Conj(w(i, p)) * w(i, q);
        }
        if (!(std::abs(dot) > 1e-15 * std::sqrt(x * y)) || !(std::abs(dot) > 0)) continue;
        moved = true;
        double c = 0;
        S sine;
        JacobiAngle(x, dot, y, &c, &sine);
        Rotate(&w, p, q, c, sine);
        Rotate(v, p, q, c, sine);
      }
    }
    if (!moved) break;
  }
  s->clear();
  for (int64_t j = 0; j < n; ++j) {
    double norm = 0;
    for (int64_t i = 0; i < m; ++i) norm += std::norm(w(i, j));
    s->push_back(std::sqrt(norm));
  }
  SortColumns(true, s, {&w, v});
  *u = Matrix<S>(m, full ? m : n);
  int64_t rank = 0;
  for (int64_t j = 0; j < n && (*s)[j] > 0; ++j, ++rank) {
    for (int64_t i = 0; i < m; ++i) (*u)(i, j) = w(i, j) / (*s)[j];
  }
  CompleteBasis(rank, u);
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
        m.v[i] = S(static_cast<double>(static_cast<Compute<T>>(x[i])));
      }
    }
  });
  return m;
}

template <typename S>
void WriteElement(S value, Tensor* t, int64_t i) {
  DispatchOver(Join<FloatTypes, ComplexTypes>{}, t->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsComplex<T>) {
      using R = typename T::value_type;
      t->data<T>()[i] = T(static_cast<R>(std::real(value)), static_cast<R>(std::imag(value)));
    } else {
      t->data<T>()[i] = static_cast<T>(static_cast<Compute<T>>(std::real(value)));
    }
  });
}

template <typename S>
void WriteMatrix(const Matrix<S>& m, Tensor* t, int64_t b) {
  const auto n = static_cast<int64_t>(m.v.size());
  for (int64_t i = 0; i < n; ++i) WriteElement(m.v[i], t, b * n + i);
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

#define INSTANTIATE(S)                                                                     \
  template Matrix<S> Adjoint(const Matrix<S>&);                                            \
  template Matrix<S> Multiply(const Matrix<S>&, const Matrix<S>&);                         \
  template LuFactors<S> Lu(Matrix<S>);                                                     \
  template Matrix<S> LuSolve(const LuFactors<S>&, const Matrix<S>&);                       \
  template void Substitute(const Matrix<S>&, bool, Matrix<S>*);                            \
  template bool Cholesky(const Matrix<S>&, Matrix<S>*);                                    \
  template void Qr(const Matrix<S>&, Matrix<S>*, Matrix<S>*);                              \
  template void HermitianEigen(Matrix<S>, std::vector<double>*, Matrix<S>*);               \
  template void Svd(const Matrix<S>&, bool, std::vector<double>*, Matrix<S>*, Matrix<S>*); \
  template Matrix<S> ReadMatrix(const Tensor&, int64_t);                                   \
  template void WriteMatrix(const Matrix<S>&, Tensor*, int64_t);                           \
  template void WriteElement(S, Tensor*, int64_t)
INSTANTIATE(double);
INSTANTIATE(Complex);
#undef INSTANTIATE

}  // namespace millstream
