// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/linalg/schur.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millstream {
namespace {

using CMatrix = Matrix<Complex>;
constexpr double kEps = std::numeric_limits<double>::epsilon();

// A rotation of two rows (columns) that makes the second of a pair of numbers zero.
struct Rotation {
  double c = 1;
  Complex s;

  Rotation(Complex a, Complex b) {
    const double size = std::hypot(std::abs(a), std::abs(b));
    if (size == 0) return;
    if (a == Complex(0)) {
      c = 0;
      s = 1;
      return;
    }
    c = std::abs(a) / size;
    s = a / std::abs(a) * std::conj(b) / size;
  }
  void Rows(CMatrix* m, int64_t i, int64_t j, int64_t begin, int64_t end) const {
    for (int64_t k = begin; k < end; ++k) {
      const Complex x = (*m)(i, k), y = (*m)(j, k);
      (*m)(i, k) = c * x + s * y;
      (*m)(j, k) = -std::conj(s) * x + c * y;
    }
  }
  void Columns(CMatrix* m, int64_t i, int64_t j, int64_t end) const {
    for (int64_t k = 0; k < end; ++k) {
      const Complex x = (*m)(k, i), y = (*m)(k, j);
      (*m)(k, i) = c * x + std::conj(s) * y;
      (*m)(k, j) = -s * x + c * y;
    }
  }
};

// Zeros below the first subdiagonal of *h, by rotations that *q collects.
void ToHessenberg(CMatrix* h, CMatrix* q) {
  const int64_t n = h->rows;
  for (int64_t col = 0; col + 2 < n; ++col) {
    for (int64_t row = n - 1; row > col + 1; --row) {
      if ((*h)(row, col) == Complex(0)) continue;
      const Rotation r((*h)(row - 1, col), (*h)(row, col));
      r.Rows(h, row - 1, row, col, n);
      r.Columns(h, row - 1, row, n);
      r.Columns(q, row - 1, row, n);
      (*h)(row, col) = 0;
    }
  }
}

// The eigenvalue of the last two rows of the active part that lies nearer to the corner.
Complex Shift(const CMatrix& h, int64_t end, int step) {
  const Complex a = h(end - 1, end - 1), b = h(end - 1, end), c = h(end, end - 1), d = h(end, end);
  if (step % 10 == 9) return d + std::abs(c);  // against cycles
  const Complex half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  const Complex low = d + half - root, high = d + half + root;
  return std::abs(low - d) < std::abs(high - d) ? low : high;
}

void QrStep(CMatrix* h, CMatrix* q, int64_t begin, int64_t end, Complex shift) {
  const int64_t n = h->rows;
  for (int64_t i = begin; i <= end; ++i) (*h)(i, i) -= shift;
  std::vector<Rotation> rotations;
  for (int64_t i = begin; i < end; ++i) {
    const Rotation r((*h)(i, i), (*h)(i + 1, i));
    r.Rows(h, i, i + 1, i, n);
    (*h)(i + 1, i) = 0;
    rotations.push_back(r);
  }
  for (int64_t i = begin; i < end; ++i) {
    rotations[i - begin].Columns(h, i, i + 1, std::min(i + 2, end + 1));
    rotations[i - begin].Columns(q, i, i + 1, n);
  }
  for (int64_t i = begin; i <= end; ++i) (*h)(i, i) += shift;
}

double NormOfDifferenceFromIdentity(const CMatrix& t) {
  double norm = 0;
  for (int64_t j = 0; j < t.cols; ++j) {
    double sum = 0;
    for (int64_t i = 0; i <= j; ++i) sum += std::abs(t(i, j) - (i == j ? 1.0 : 0.0));
    norm = std::max(norm, sum);
  }
  return norm;
}

// x of u x = b for an upper triangular u.
CMatrix SolveUpper(const CMatrix& u, CMatrix b) {
  for (int64_t c = 0; c < b.cols; ++c) {
    for (int64_t i = u.rows - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < u.rows; ++k) b(i, c) -= u(i, k) * b(k, c);
      b(i, c) /= u(i, i);
    }
  }
  return b;
}

}  // namespace

bool Schur(const CMatrix& a, CMatrix* q, CMatrix* t) {
  const int64_t n = a.rows;
  *t = a;
  *q = CMatrix::Identity(n);
  for (const Complex& x : a.v) {
    if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) return false;
  }
  ToHessenberg(t, q);
  int64_t end = n - 1;
  for (int step = 0; end > 0; ++step) {
    int64_t begin = end;
    for (; begin > 0; --begin) {
      const double below = std::abs((*t)(begin, begin - 1));
      const double beside = std::abs((*t)(begin, begin)) + std::abs((*t)(begin - 1, begin - 1));
      if (below <= kEps * beside || below < std::numeric_limits<double>::min()) break;
    }
    if (begin > 0) (*t)(begin, begin - 1) = 0;
    if (begin == end) {
      --end;
      step = -1;
      continue;
    }
    if (step > 300) return false;
    QrStep(t, q, begin, end, Shift(*t, end, step));
  }
  return true;
}

CMatrix TriangularSquareRoot(const CMatrix& t) {
  const int64_t n = t.rows;
  CMatrix r(n, n);
  for (int64_t j = 0; j < n; ++j) {
    r(j, j) = std::sqrt(t(j, j));
    for (int64_t i = j - 1; i >= 0; --i) {
      Complex sum = t(i, j);
      for (int64_t k = i + 1; k < j; ++k) sum -= r(i, k) * r(k, j);
      r(i, j) = sum == Complex(0) ? Complex(0) : sum / (r(i, i) + r(j, j));
    }
  }
  return r;
}

// Roots until the matrix is near to one; then the integral of x (1 + s x)^-1 over s, by the rule of Gauss and Legendre
// with eight nodes.
CMatrix TriangularLogarithm(CMatrix t) {
  constexpr double kNodes[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
  constexpr double kWeights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
  double scale = 1;
  for (int roots = 0; roots < 100 && NormOfDifferenceFromIdentity(t) > 0.15; ++roots, scale *= 2) {
    t = TriangularSquareRoot(t);
  }
  const int64_t n = t.rows;
  CMatrix sum(n, n);
  for (int64_t i = 0; i < n; ++i) t(i, i) -= 1;
  for (int k = 0; k < 8; ++k) {
    const double node = 0.5 * (1 + (k < 4 ? kNodes[k] : -kNodes[k - 4]));
    CMatrix denominator(n, n);
    for (int64_t i = 0; i < n * n; ++i) denominator.v[i] = node * t.v[i];
    for (int64_t i = 0; i < n; ++i) denominator(i, i) += 1;
    const CMatrix term = SolveUpper(denominator, t);
    for (int64_t i = 0; i < n * n; ++i) sum.v[i] += 0.5 * scale * kWeights[k % 4] * term.v[i];
  }
  return sum;
}

CMatrix TriangularEigenvectors(const CMatrix& t) {
  const int64_t n = t.rows;
  double norm = 0;
  for (const Complex& x : t.v) norm = std::max(norm, std::abs(x));
  CMatrix x(n, n);
  for (int64_t j = 0; j < n; ++j) {
    x(j, j) = 1;
    for (int64_t i = j - 1; i >= 0; --i) {
      Complex sum = 0;
      for (int64_t k = i + 1; k <= j; ++k) sum -= t(i, k) * x(k, j);
      Complex gap = t(i, i) - t(j, j);
      if (std::abs(gap) < kEps * norm) gap = kEps * norm;  // equal eigenvalues
      x(i, j) = sum == Complex(0) ? Complex(0) : sum / gap;
    }
  }
  return x;
}

}  // namespace millstream
