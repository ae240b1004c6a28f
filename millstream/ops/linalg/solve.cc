// SPDX-License-Identifier: Apache-2.0
// Systems of equations.
#include <algorithm>

#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/linalg/factor_gradients.h"
#include "millstream/ops/linalg/gradients.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

// matrix and rhs of a system; the batch dimensions are equal, or broadcast.
struct System {
  Shape batch;
  Shape out;
};

StatusOr<System> CheckSystem(const Tensor& a, const Tensor& b, bool square, bool broadcast) {
  RETURN_IF_ERROR(CheckMatrices(a, square));
  RETURN_IF_ERROR(CheckMatrices(b, false));
  if (a.dim(a.rank() - 2) != b.dim(b.rank() - 2)) {
    return errors::InvalidArgument("Input matrix and rhs are incompatible.");
  }
  const Shape a_batch(a.shape().dims().first(a.rank() - 2)), b_batch(b.shape().dims().first(b.rank() - 2));
  System s;
  if (broadcast) {
    ASSIGN_OR_RETURN(s.batch, BroadcastShapes(a_batch, b_batch));
  } else {
    if (!(a_batch == b_batch)) return errors::InvalidArgument("All input tensors must have the same outer dimensions.");
    s.batch = a_batch;
  }
  std::vector<int64_t> dims(s.batch.dims().begin(), s.batch.dims().end());
  dims.push_back(a.dim(a.rank() - 1));
  dims.push_back(b.dim(b.rank() - 1));
  ASSIGN_OR_RETURN(s.out, Shape::Make(dims));
  return s;
}

class MatrixSolve : public Kernel {
 public:
  explicit MatrixSolve(KernelInit& init) : adjoint_(init.Attr<bool>("adjoint")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const System s, CheckSystem(a, b, true, false));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, s.out));
    if (s.out.num_elements() == 0) return OkStatus();
    return ForEachMatrix(ctx, 2, [&]<typename S>(Matrix<S> m, int64_t i) -> Status {
      const LuFactors<S> f = Lu(adjoint_ ? Adjoint(m) : std::move(m));
      if (f.singular) return errors::InvalidArgument("Input matrix is not invertible.");
      WriteMatrix(LuSolve(f, ReadMatrix<S>(b, i), ctx.pool()), out, i);
      return OkStatus();
    });
  }

 private:
  const bool adjoint_;
};

class MatrixTriangularSolve : public Kernel {
 public:
  explicit MatrixTriangularSolve(KernelInit& init)
      : lower_(init.Attr<bool>("lower")), adjoint_(init.Attr<bool>("adjoint")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    ASSIGN_OR_RETURN(const System s, CheckSystem(a, b, true, true));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, s.out));
    if (s.out.num_elements() == 0) return OkStatus();
    const BroadcastMap a_map(Shape(a.shape().dims().first(a.rank() - 2)), s.batch);
    const BroadcastMap b_map(Shape(b.shape().dims().first(b.rank() - 2)), s.batch);
    return ComputeIn(a.dtype(), [&](auto type) -> Status {
      using S = typename decltype(type)::type;
      const int64_t out_elements = s.out.num_elements() / s.batch.num_elements();
      const double cost = static_cast<double>(out_elements * a.dim(a.rank() - 1));
      return ForEachInBatch(ctx, s.batch.num_elements(), cost, [&](int64_t i) {
        const Matrix<S> m = ReadMatrix<S>(a, a_map.Offset(i));
        Matrix<S> x = ReadMatrix<S>(b, b_map.Offset(i));
        Substitute(m, {.lower = lower_, .adjoint = adjoint_}, &x, ctx.pool());
        WriteMatrix(x, out, i);
        return OkStatus();
      });
    });
  }

 private:
  const bool lower_, adjoint_;
};

// The x of least |a x - b|^2 + l2 |x|^2; the smallest one where there are many. False where the normal equations, which
// `fast` solves, are not positive definite.
template <typename S>
bool LeastSquares(const Matrix<S>& a, const Matrix<S>& b, double l2, bool fast, ThreadPool* pool, Matrix<S>* x) {
  if (!fast) {
    math::LeastSquares(a.rows, a.cols, b.cols, a.v.data(), b.v.data(), x->v.data());
    return true;
  }
  const Matrix<S> adjoint = Adjoint(a);
  const bool tall = a.rows >= a.cols;
  Matrix<S> gram = tall ? Multiply(adjoint, a) : Multiply(a, adjoint);
  for (int64_t i = 0; i < gram.rows; ++i) gram(i, i) += S(l2);
  if (!math::Linalg<S>().cholesky(gram.rows, gram.v.data())) return false;
  *x = tall ? Multiply(adjoint, b) : b;
  Substitute(gram, {}, x, pool);
  Substitute(gram, {.adjoint = true}, x, pool);
  if (!tall) *x = Multiply(adjoint, *x);
  return true;
}

class MatrixSolveLs : public Kernel {
 public:
  explicit MatrixSolveLs(KernelInit& init) : fast_(init.Attr<bool>("fast")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1), &l2 = ctx.input(2);
    ASSIGN_OR_RETURN(const System s, CheckSystem(a, b, false, false));
    if (l2.rank() != 0)
      return errors::InvalidArgument("l2_regularizer must be scalar, got shape ", l2.shape().ToString());
    if (l2.scalar<double>() < 0) return errors::InvalidArgument("l2_regularizer must be >= 0.");
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, s.out));
    if (s.out.num_elements() == 0) return OkStatus();
    // Normal equations square the condition, so that they want doubles.
    return ComputeInDouble(a.dtype(), [&](auto type) -> Status {
      using S = typename decltype(type)::type;
      const int64_t elements = a.num_elements() / s.batch.num_elements();
      const double cost = static_cast<double>(elements * a.dim(a.rank() - 1));
      return ForEachInBatch(ctx, s.batch.num_elements(), cost, [&](int64_t i) -> Status {
        Matrix<S> x(s.out.dim(s.out.rank() - 2), s.out.dim(s.out.rank() - 1));
        if (a.dim(a.rank() - 2) > 0 &&
            !LeastSquares(ReadMatrix<S>(a, i), ReadMatrix<S>(b, i), l2.scalar<double>(), fast_, ctx.pool(), &x)) {
          return errors::InvalidArgument(
              "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or "
              "provide a larger l2_regularizer > 0.");
        }
        WriteMatrix(x, out, i);
        return OkStatus();
      });
    });
  }

 private:
  const bool fast_;
};

Status SystemShape(ShapeContext& c, bool square, bool broadcast) {
  PartialShape a, b;
  if (square)
    RETURN_IF_ERROR(SquareMatrices(c, 0, &a));
  else
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &a));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 2, &b));
  if (!a.rank_known() || !b.rank_known()) return OkStatus();
  int64_t rows = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(a.dim(a.rank() - 2), b.dim(b.rank() - 2), &rows));
  const PartialShape x = a.Slice(0, a.rank() - 2), y = b.Slice(0, b.rank() - 2);
  ASSIGN_OR_RETURN(const PartialShape batch, broadcast ? ShapeContext::Broadcast(x, y) : x.MergeWith(y));
  const int64_t unknowns = square ? rows : a.dim(a.rank() - 1);
  c.set_output(0, batch.Concatenate(PartialShape({unknowns, b.dim(b.rank() - 1)})));
  return OkStatus();
}
Status SolveShape(ShapeContext& c) { return SystemShape(c, true, false); }
Status TriangularShape(ShapeContext& c) { return SystemShape(c, true, true); }
Status LeastSquaresShape(ShapeContext& c) { return SystemShape(c, false, false); }

Status SolveGrad(GradContext& g) {
  const LinalgGrad m(g);
  const auto adjoint = g.Attr<bool>("adjoint");
  const Output x = g.output(0);
  const Output db = g.Op("MatrixSolve", {g.input(0), g.dy(0)}, {{"adjoint", !adjoint}});
  g.set_dx(0, m.Neg(adjoint ? m.Product(x, db, false, true) : m.Product(db, x, false, true)));
  g.set_dx(1, db);
  return g.status();
}
Status TriangularGrad(GradContext& g) {
  const LinalgGrad m(g);
  const auto adjoint = g.Attr<bool>("adjoint"), lower = g.Attr<bool>("lower");
  const Output a = g.input(0), b = g.input(1), x = g.output(0);
  const Output db = g.Op("MatrixTriangularSolve", {a, g.dy(0)}, {{"adjoint", !adjoint}, {"lower", lower}});
  const Output da = m.Neg(adjoint ? m.Product(x, db, false, true) : m.Product(db, x, false, true));
  const Output part = lower ? m.LowerPart(da) : m.UpperPart(da);
  const PartialShape sa = g.scope().ShapeOf(a), sb = g.scope().ShapeOf(b);
  if (sa.rank_known() && sa.rank() == sb.rank() && sa.Slice(0, sa.rank() - 2).IsFullyDefined() &&
      sa.Slice(0, sa.rank() - 2) == sb.Slice(0, sb.rank() - 2)) {
    g.set_dx(0, part);
    g.set_dx(1, db);
    return g.status();
  }
  const Scope& s = g.scope();
  const Output a_shape = m.Shape(a), b_shape = m.Shape(b);
  const auto batch = [&](Output shape) {
    return g.Op("StridedSlice", {shape, s.Constant({0}), s.Constant({-2}), s.Constant({1})}, {{"begin_mask", 1}});
  };
  Node* axes = g.Add("BroadcastGradientArgs", {batch(a_shape), batch(b_shape)});
  if (axes == nullptr) return g.status();
  g.set_dx(0, g.Op("Reshape", {g.Op("Sum", {part, Output(axes, 0)}), a_shape}));
  g.set_dx(1, g.Op("Reshape", {g.Op("Sum", {db, Output(axes, 1)}), b_shape}));
  return g.status();
}

OP("MatrixSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SolveShape)
    .Gradient(SolveGrad)
    .CpuFor<MatrixSolve>(LinalgTypes{})
    .Expensive()
    .Doc("The x of matrix x = rhs.");

OP("MatrixTriangularSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("lower: bool = true")
    .Attr("adjoint: bool = false")
    .Attr("T: {bfloat16, double, float, half, complex64, complex128}")
    .Shape(TriangularShape)
    .Gradient(TriangularGrad)
    .CpuFor<MatrixTriangularSolve>(LinalgTypes{})
    .Expensive()
    .Doc("The x of matrix x = rhs, for one triangle of the matrix; batch dimensions broadcast.");

OP("MatrixSolveLs")
    .Input("matrix: T")
    .Input("rhs: T")
    .Input("l2_regularizer: double")
    .Output("output: T")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Attr("fast: bool = true")
    .Shape(LeastSquaresShape)
    .Gradient(LeastSquaresGradient)
    .CpuFor<MatrixSolveLs>(LinalgTypes{})
    .HostMemory("l2_regularizer")
    .Expensive()
    .Doc("The x for which matrix x comes closest to rhs.");

OP("BatchMatrixSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("adjoint: bool = false")
    .Attr("T: {double, float}")
    .Shape(UnknownShape)
    .CpuFor<MatrixSolve>(Types<float, double>{})
    .Expensive()
    .Doc("The old name of MatrixSolve.");

OP("BatchMatrixTriangularSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("lower: bool = true")
    .Attr("adjoint: bool = false")
    .Attr("T: {double, float}")
    .Shape(UnknownShape)
    .CpuFor<MatrixTriangularSolve>(Types<float, double>{})
    .Expensive()
    .Doc("The old name of MatrixTriangularSolve.");

OP("BatchMatrixSolveLs")
    .Input("matrix: T")
    .Input("rhs: T")
    .Input("l2_regularizer: double")
    .Output("output: T")
    .Attr("T: {double, float}")
    .Attr("fast: bool = true")
    .Shape(UnknownShape)
    .CpuFor<MatrixSolveLs>(Types<float, double>{})
    .HostMemory("l2_regularizer")
    .Expensive()
    .Doc("The old name of MatrixSolveLs.");

}  // namespace
}  // namespace millstream
