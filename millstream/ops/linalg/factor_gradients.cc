// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/linalg/factor_gradients.h"

#include <algorithm>

#include "millstream/ops/linalg/gradients.h"

namespace millstream {
namespace {

// Sizes of the last two dimensions; -1 where they are not known.
std::pair<int64_t, int64_t> MatrixSize(const GradContext& g, Output matrices) {
  const PartialShape shape = g.scope().ShapeOf(matrices);
  if (!shape.rank_known() || shape.rank() < 2) return {-1, -1};
  return {shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1)};
}

// Matrices whose element (i, j) is 1 / (x_j - x_i), and 0 where that has no value.
Output InverseGaps(const GradContext& g, const LinalgGrad& m, Output x) {
  const Scope& s = g.scope();
  const Output gaps =
      m.Sub(g.Op("ExpandDims", {x, s.Const<int32_t>(-2)}), g.Op("ExpandDims", {x, s.Const<int32_t>(-1)}));
  return g.Op("DivNoNan", {g.ConstLike(gaps, 1), gaps});
}

Output Diagonal(const GradContext& g, Output a) { return g.Op("MatrixDiagPart", {a}); }
Output Columns(const GradContext& g, Output vectors) {
  return g.Op("ExpandDims", {vectors, g.scope().Const<int32_t>(-2)});
}

// a b^H with all of the last two dimensions.
class SvdParts {
 public:
  SvdParts(GradContext& g, Output s, Output u, Output v)
      : g_(g), m_(g), s_(s), u_(u), v_(v), gaps_(InverseGaps(g, m_, m_.Square(s))) {}

  // The gradient at the matrix; du and dv may be empty.
  Output Gradient(Output ds, Output du, Output dv) const {
    Output middle = g_.Op("MatrixDiag", {ds}), outside;
    if (du) {
      const Output part = Skew(m_.Product(u_, du, true, false));
      middle = m_.Add(middle, m_.Mul(part, Columns(g_, s_)));  // times diag(s) from the right
      outside = m_.Product(m_.Mul(Beyond(u_, du), InverseValues()), v_, false, true);
    }
    if (dv) {
      const Output product = m_.Product(v_, dv, true, false);
      const Output rows = g_.Op("ExpandDims", {s_, g_.scope().Const<int32_t>(-1)});
      middle = m_.Add(middle, m_.Mul(Skew(product), rows));
      if (IsComplex(s_.dtype())) middle = m_.Add(middle, PhaseTerm(product));
      const Output part = m_.Product(u_, m_.Mul(Beyond(v_, dv), InverseValues()), false, true);
      outside = outside ? m_.Add(outside, part) : part;
    }
    const Output inside = m_.Product(m_.Product(u_, middle, false, false), v_, false, true);
    return outside ? m_.Add(inside, outside) : inside;
  }

 private:
  // gaps * (a - a^H), element by element.
  Output Skew(Output a) const { return m_.Mul(gaps_, m_.Sub(a, m_.Adjoint(a))); }
  // (1 - q q^H) dq: what leaves the space of the columns of q.
  Output Beyond(Output q, Output dq) const {
    return m_.Sub(dq, m_.Product(q, m_.Product(q, dq, true, false), false, false));
  }
  Output InverseValues() const { return Columns(g_, g_.Op("DivNoNan", {g_.ConstLike(s_, 1), s_})); }
  // Vectors are unique up to a common phase, which is chosen so that the gradient has no part along it.
  Output PhaseTerm(Output product) const {
    const Output along = Diagonal(g_, product);
    const Output phase = m_.Mul(m_.Div(m_.Sub(m_.Conj(along), along), s_), 0.5);
    return g_.Op("MatrixDiag", {phase});
  }

  GradContext& g_;
  const LinalgGrad m_;
  const Output s_, u_, v_, gaps_;
};

// x r^-H for an upper triangular r.
Output DivideByAdjoint(const GradContext& g, const LinalgGrad& m, Output x, Output r) {
  return m.Adjoint(g.Op("MatrixTriangularSolve", {r, m.Adjoint(x)}, {{"lower", false}, {"adjoint", false}}));
}

// Of matrices with at least as many rows as columns, by their factors and the gradients of these.
Output DeepQrGradient(const GradContext& g, const LinalgGrad& m, Output q, Output r, Output dq, Output dr) {
  const Output qdq = m.Product(q, dq, true, false), rdr = m.Product(r, dr, false, true);
  const Output skew = m.Add(m.Sub(qdq, m.Adjoint(qdq)), m.Sub(rdr, m.Adjoint(rdr)));
  const Output inside = m.Product(q, m.Add(dr, DivideByAdjoint(g, m, m.LowerPart(skew), r)), false, false);
  const Output outside = DivideByAdjoint(g, m, m.Sub(dq, m.Product(q, qdq, false, false)), r);
  const Output dx = m.Add(inside, outside);
  if (!IsComplex(q.dtype())) return dx;
  // The diagonal of r is real: the imaginary part of the skew diagonal counts once, not twice.
  const Output diagonal = Diagonal(g, m.Sub(rdr, m.Adjoint(qdq)));
  const Output imaginary = m.Mul(m.Sub(diagonal, m.Conj(diagonal)), 0.5);
  const Output correction = m.Product(q, m.Adjoint(g.Op("MatrixDiag", {imaginary})), false, false);
  return m.Add(dx, DivideByAdjoint(g, m, correction, r));
}

// The first n columns, or those from n on.
Output SliceColumns(const GradContext& g, Output a, int64_t n, bool first) {
  const Scope& s = g.scope();
  const auto at = static_cast<int32_t>(n);
  // Ellipsis, then the slice.
  return g.Op("StridedSlice",
              {a, s.Const(Tensor::Vector<int32_t>({0, first ? 0 : at})), s.Const(Tensor::Vector<int32_t>({0, at})),
               s.Const(Tensor::Vector<int32_t>({1, 1}))},
              {{"ellipsis_mask", 1}, {"end_mask", first ? 0 : 2}});
}

}  // namespace

Status SvdGradient(GradContext& g) {
  const LinalgGrad m(g);
  if (!g.Attr<bool>("compute_uv")) {
    Node* again = g.Add("Svd", {g.input(0)});
    if (again == nullptr) return g.status();
    g.set_dx(0, SvdParts(g, Output(again, 0), Output(again, 1), Output(again, 2)).Gradient(g.dy(0), {}, {}));
    return g.status();
  }
  Output u = g.output(1), v = g.output(2);
  const bool vectors = g.has_dy(1) || g.has_dy(2);
  if (g.Attr<bool>("full_matrices")) {
    const auto [rows, columns] = MatrixSize(g, g.input(0));
    if (rows < 0 || rows != columns) {
      if (vectors || rows < 0 || columns < 0) {
        return errors::Unimplemented("Svd with full_matrices has a gradient for square matrices of known size only");
      }
      u = SliceColumns(g, u, std::min(rows, columns), true);
      v = SliceColumns(g, v, std::min(rows, columns), true);
    }
  }
  const SvdParts parts(g, g.output(0), u, v);
  g.set_dx(0, parts.Gradient(g.dy(0), vectors ? g.dy(1) : Output(), vectors ? g.dy(2) : Output()));
  return g.status();
}

Status QrGradient(GradContext& g) {
  const LinalgGrad m(g);
  const auto [rows, columns] = MatrixSize(g, g.input(0));
  if (rows < 0 || columns < 0) return errors::Unimplemented("QrGrad not implemented with dynamic shapes.");
  if (g.Attr<bool>("full_matrices") && rows > columns) {
    return errors::Unimplemented("QrGrad not implemented when nrows > ncols and full_matrices is true.");
  }
  const Output q = g.output(0), r = g.output(1), dq = g.dy(0), dr = g.dy(1);
  if (rows >= columns) {
    g.set_dx(0, DeepQrGradient(g, m, q, r, dq, dr));
    return g.status();
  }
  // [x y] = q [r s]: y is q s, and x has the gradient of a square matrix.
  const Output y = SliceColumns(g, g.input(0), rows, false), ds = SliceColumns(g, dr, rows, false);
  const Output dx = DeepQrGradient(g, m, q, SliceColumns(g, r, rows, true), m.Add(dq, m.Product(y, ds, false, true)),
                                   SliceColumns(g, dr, rows, true));
  g.set_dx(0, g.Op("ConcatV2", {dx, m.Product(q, ds, false, false), g.scope().Const<int32_t>(-1)}, {{"N", 2}}));
  return g.status();
}

Status GeneralEigGradient(GradContext& g) {
  const LinalgGrad m(g);
  Output e = g.output(0), v = g.output(1), middle = g.Op("MatrixDiag", {g.dy(0)});
  if (!g.Attr<bool>("compute_v")) {
    Node* again = g.Add("Eig", {g.input(0)}, {{"Tout", e.dtype()}});
    if (again == nullptr) return g.status();
    v = Output(again, 1);
  } else if (g.has_dy(1)) {
    const Output product = m.Product(v, g.dy(1), true, false);
    // Vectors have the length one.
    const DType real = e.dtype() == DType::kComplex64 ? DType::kFloat : DType::kDouble;
    const Output along = g.Op("Cast", {g.Op("Real", {Diagonal(g, product)}, {{"Tout", real}})}, {{"DstT", e.dtype()}});
    const Output lengths = m.Mul(m.Product(v, v, true, false), Columns(g, along));
    middle = m.Add(middle, m.Mul(m.Conj(InverseGaps(g, m, e)), m.Sub(product, lengths)));
  }
  const Output adjoint = m.Adjoint(v);
  Output dx = g.Op("MatrixSolve", {adjoint, m.Product(middle, v, false, true)});
  if (g.input(0).dtype() != e.dtype()) dx = g.Op("Real", {dx}, {{"Tout", g.input(0).dtype()}});
  g.set_dx(0, dx);
  return g.status();
}

Status LeastSquaresGradient(GradContext& g) {
  const LinalgGrad m(g);
  const Output a = g.input(0), b = g.input(1), x = g.output(0), dx = g.dy(0);
  const auto [rows, columns] = MatrixSize(g, a);
  if (rows < 0 || columns < 0) {
    return errors::Unimplemented("The gradient of MatrixSolveLs needs matrices of known size");
  }
  const bool tall = rows >= columns;
  const Output gram = tall ? m.Product(a, a, true, false) : m.Product(a, a, false, true);
  const Output l2 = g.Op("Cast", {g.input(2)}, {{"DstT", a.dtype()}});
  const Output lower = g.Op("Cholesky", {m.Add(gram, m.Mul(m.IdentityLike(gram), l2))});
  const auto solve = [&](Output rhs) {
    const Output half = g.Op("MatrixTriangularSolve", {lower, rhs}, {{"lower", true}, {"adjoint", false}});
    return g.Op("MatrixTriangularSolve", {lower, half}, {{"lower", true}, {"adjoint", true}});
  };
  if (tall) {
    const Output z = solve(dx), db = m.Product(a, z, false, false);
    const Output rest = m.Sub(b, m.Product(a, x, false, false));
    g.set_dx(0, m.Sub(m.Product(rest, z, false, true), m.Product(db, x, false, true)));
    g.set_dx(1, db);
  } else {
    const Output db = solve(m.Product(a, dx, false, false)), y = solve(b);
    const Output rest = m.Sub(dx, m.Product(a, db, true, false));
    g.set_dx(0, m.Sub(m.Product(y, rest, false, true), m.Product(db, x, false, true)));
    g.set_dx(1, db);
  }
  return g.status();
}

}  // namespace millstream
