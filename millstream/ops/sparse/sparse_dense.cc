// SPDX-License-Identifier: Apache-2.0
// Operations of a sparse tensor with a dense one: products of matrices, and element by element.
#include <complex>

#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

template <typename T>
T Conjugate(T v) {
  if constexpr (kIsComplex<T>)
    return std::conj(v);
  else
    return v;
}

template <typename T>
class SparseTensorDenseMatMul : public Kernel {
 public:
  explicit SparseTensorDenseMatMul(KernelInit& init)
      : adjoint_a_(init.Attr<bool>("adjoint_a")), adjoint_b_(init.Attr<bool>("adjoint_b")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2), &b = ctx.input(3);
    RETURN_IF_ERROR(Check(indices, values, shape, b));
    const int64_t* sizes = shape.data<int64_t>();
    if (sizes[0] < 0 || sizes[1] < 0) return errors::InvalidArgument("Tensor 'a_shape' must be non-negative");
    const int64_t rows = sizes[adjoint_a_ ? 1 : 0], inner = sizes[adjoint_a_ ? 0 : 1];
    const int64_t b_inner = b.dim(adjoint_b_ ? 1 : 0), cols = b.dim(adjoint_b_ ? 0 : 1);
    if (inner != b_inner) {
      return errors::InvalidArgument("Cannot multiply A and B because inner dimension does not match: ", inner, " vs. ",
                                     b_inner, ". Did you forget a transpose?");
    }
    const std::vector<int64_t> dims{rows, cols};
    ASSIGN_OR_RETURN(const Shape out_shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, out_shape));
    using W = millstream::Compute<T>;
    std::vector<W> sums;
    W* c = nullptr;
    if constexpr (std::is_same_v<W, T>) {
      FillZero(ctx, out);
      c = out->data<T>();
    } else {
      sums.assign(static_cast<size_t>(out_shape.num_elements()), W(0));
      c = sums.data();
    }
    Dims at;
    RETURN_IF_ERROR(ReadInts(indices, &at));
    for (int64_t e = 0; e < values.dim(0); ++e) {
      const int64_t r = at[2 * e + (adjoint_a_ ? 1 : 0)], k = at[2 * e + (adjoint_a_ ? 0 : 1)];
      if (k < 0 || k >= inner) {
        return errors::InvalidArgument("k (", k, ") from index[", e, ",", adjoint_a_ ? 0 : 1,
                                       "] out of bounds (>=", inner, ")");
      }
      if (r < 0 || r >= rows) {
        return errors::InvalidArgument("m (", r, ") from index[", e, ",", adjoint_a_ ? 1 : 0,
                                       "] out of bounds (>=", rows, ")");
      }
      const W v = static_cast<W>(adjoint_a_ ? Conjugate(values.data<T>()[e]) : values.data<T>()[e]);
      const T* from = b.data<T>() + (adjoint_b_ ? k : k * cols);
      W* row = c + r * cols;
      if (!adjoint_b_) {
        for (int64_t j = 0; j < cols; ++j) row[j] = static_cast<W>(row[j] + v * static_cast<W>(from[j]));
      } else {
        for (int64_t j = 0; j < cols; ++j)
          row[j] = static_cast<W>(row[j] + v * static_cast<W>(Conjugate(from[j * inner])));
      }
    }
    if constexpr (!std::is_same_v<W, T>) std::copy(sums.begin(), sums.end(), out->data<T>());
    return OkStatus();
  }

 private:
  static Status Check(const Tensor& indices, const Tensor& values, const Tensor& shape, const Tensor& b) {
    if (b.rank() != 2) return errors::InvalidArgument("Tensor 'b' is not a matrix");
    if (shape.rank() != 1 || shape.num_elements() != 2) {
      return errors::InvalidArgument("Tensor 'a_shape' must have 2 elements");
    }
    if (values.rank() != 1) return errors::InvalidArgument("Tensor 'a_values' is not a vector");
    if (indices.rank() != 2) return errors::InvalidArgument("Tensor 'a_indices' is not a matrix");
    if (indices.dim(0) != values.dim(0)) {
      return errors::InvalidArgument("Number of rows of a_indices does not match number of entries in a_values");
    }
    if (indices.dim(1) != 2) return errors::InvalidArgument("Number of columns of a_indices must be 2");
    return OkStatus();
  }

  const bool adjoint_a_, adjoint_b_;
};

Status SparseMatMulShape(ShapeContext& c) {
  bool adjoint_a = false, adjoint_b = false;
  RETURN_IF_ERROR(c.GetAttr("adjoint_a", &adjoint_a));
  RETURN_IF_ERROR(c.GetAttr("adjoint_b", &adjoint_b));
  int64_t n = 0, rank = 0;
  RETURN_IF_ERROR(SparseRank(c.input(0), c.input(1), c.input(2), &n, &rank));
  RETURN_IF_ERROR(ShapeContext::MergeDim(rank, 2, &rank));
  PartialShape a, b;
  ASSIGN_OR_RETURN(a, c.ConstantAsShape(2));
  RETURN_IF_ERROR(ShapeContext::WithRank(a, 2, &a));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 2, &b));
  int64_t inner = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(a.dim(adjoint_a ? 0 : 1), b.dim(adjoint_b ? 1 : 0), &inner));
  c.set_output(0, PartialShape({a.dim(adjoint_a ? 1 : 0), b.dim(adjoint_b ? 0 : 1)}));
  return OkStatus();
}

Output Column(const GradContext& g, Output matrix, int k) {
  const Scope& s = g.scope();
  return g.Op("StridedSlice", {matrix, s.Constant({0, k}), s.Constant({0, k + 1}), s.Constant({1, 1})},
              {{"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
}

// Each entry's gradient is the product of a row of dy and a row of b.
Status SparseMatMulGrad(GradContext& g) {
  const GradMath m(g);
  const auto adjoint_a = g.Attr<bool>("adjoint_a"), adjoint_b = g.Attr<bool>("adjoint_b");
  const Output indices = g.input(0), b = g.input(3), dy = g.dy(0), zero = g.scope().Const<int32_t>(0);
  const auto flipped = g.scope().Constant({1, 0});
  Output db = g.Op("SparseTensorDenseMatMul", {indices, g.input(1), g.input(2), dy}, {{"adjoint_a", !adjoint_a}});
  if (adjoint_b) db = m.Conj(g.Op("Transpose", {db, flipped}));
  const Output rows = Column(g, indices, adjoint_a ? 1 : 0), cols = Column(g, indices, adjoint_a ? 0 : 1);
  const Output from_b = adjoint_b ? g.Op("Transpose", {b, flipped}) : m.Conj(b);
  const Output products = m.Mul(g.Op("GatherV2", {dy, rows, zero}), g.Op("GatherV2", {from_b, cols, zero}));
  const Output sums = g.Op("Sum", {products, g.scope().Const<int32_t>(1)});
  g.set_dx(1, adjoint_a ? m.Conj(sums) : sums);
  g.set_dx(3, db);
  return g.status();
}

enum class Cwise { kAdd, kMul, kDiv };

// The dense operand is broadcast to the sparse one's shape; the result has its entries.
template <typename T, Cwise kind>
class SparseDenseCwise : public Kernel {
 public:
  explicit SparseDenseCwise(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
    const Tensor& dense = ctx.input(3);
    if (s.size() > 0 && dense.num_elements() == 0) return errors::InvalidArgument("Dense operand is empty");
    const int lead = s.rank() - dense.rank();
    bool fits = lead >= 0;
    for (int d = 0; fits && d < dense.rank(); ++d) fits = dense.dim(d) == 1 || dense.dim(d) == s.shape[lead + d];
    if (!fits) {
      return errors::InvalidArgument(
          "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible "
          "shapes: dense side ",
          dense.shape().ToString());
    }
    RETURN_IF_ERROR(CheckBounds(s));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({s.size()})));
    for (int64_t i = 0; i < s.size(); ++i) {
      int64_t place = 0;
      for (int d = 0; d < dense.rank(); ++d) {
        place = place * dense.dim(d) + (dense.dim(d) == 1 ? 0 : s.at(i)[lead + d]);
      }
      const T y = dense.data<T>()[place];
      if constexpr (kind == Cwise::kDiv && std::is_integral_v<T>) {
        if (y == T(0)) return errors::InvalidArgument("SparseDenseCwiseDiv: division by zero");
      }
      out->data<T>()[i] = Combine(s.values.data<T>()[i], y);
    }
    return OkStatus();
  }

 private:
  static T Combine(T x, T y) {
    using W = std::conditional_t<std::is_integral_v<T>, uint64_t, millstream::Compute<T>>;
    if constexpr (kind == Cwise::kAdd) return static_cast<T>(W(x) + W(y));
    if constexpr (kind == Cwise::kMul) return static_cast<T>(W(x) * W(y));
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      return y == T(-1) ? static_cast<T>(W(0) - W(x)) : static_cast<T>(x / y);
    } else {
      using Q = millstream::Compute<T>;
      return static_cast<T>(Q(x) / Q(y));
    }
  }
};
template <typename T>
using CwiseAdd = SparseDenseCwise<T, Cwise::kAdd>;
template <typename T>
using CwiseMul = SparseDenseCwise<T, Cwise::kMul>;
template <typename T>
using CwiseDiv = SparseDenseCwise<T, Cwise::kDiv>;

Status CwiseShape(ShapeContext& c) {
  PartialShape indices;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &indices));
  c.set_output(0, PartialShape({indices.dim(0)}));
  return OkStatus();
}

Status CwiseGrad(GradContext& g, bool is_mul) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output indices = g.input(0), x = g.input(1), x_shape = g.input(2), y = g.input(3), dz = g.dy(0);
  const Output y_shape = g.Op("Shape", {y}, {{"out_type", DType::kInt64}});
  const Output added =
      g.Op("ExpandDims", {m.Sub(g.Op("Size", {x_shape}), g.Op("Size", {y_shape})), s.Const<int32_t>(0)});
  const Output ones = g.Op("Fill", {added, s.Const<int64_t>(1)});
  const Output full = g.Op("ConcatV2", {ones, y_shape, s.Const<int32_t>(0)}, {{"N", 2}});
  Output places = g.Op("FloorDiv", {indices, g.Op("FloorDiv", {x_shape, full})});
  const Output begin = g.Op("ConcatV2", {s.Constant({0}), added, s.Const<int32_t>(0)}, {{"N", 2}});
  places = g.Op("Slice", {places, begin, s.Constant({-1, -1})});
  const Output values = g.Op("GatherNd", {y, places});
  const Output dy_values = is_mul ? m.Mul(dz, x) : m.Mul(dz, m.Div(m.Neg(x), m.Square(values)));
  g.set_dx(1, is_mul ? m.Mul(dz, values) : m.Div(dz, values));
  g.set_dx(3, g.Op("SparseTensorDenseAdd", {places, dy_values, y_shape, m.ZerosLike(y)}));
  return g.status();
}
Status CwiseMulGrad(GradContext& g) { return CwiseGrad(g, true); }
Status CwiseDivGrad(GradContext& g) { return CwiseGrad(g, false); }

OP("SparseTensorDenseMatMul")
    .Input("a_indices: Tindices")
    .Input("a_values: T")
    .Input("a_shape: int64")
    .Input("b: T")
    .Output("product: T")
    .Attr("T: type")
    .Attr("Tindices: {int32, int64} = DT_INT64")
    .Attr("adjoint_a: bool = false")
    .Attr("adjoint_b: bool = false")
    .Shape(SparseMatMulShape)
    .Gradient(SparseMatMulGrad)
    .Cpu<SparseTensorDenseMatMul>(
        Types<float, double, int32_t, std::complex<float>, std::complex<double>, BFloat16, Half>{})
    .Expensive()
    .Doc("The product of a sparse matrix with a dense one.");

template <template <typename> class K>
void CwiseOp(OpBuilder& op) {
  op.Input("sp_indices: int64")
      .Input("sp_values: T")
      .Input("sp_shape: int64")
      .Input("dense: T")
      .Output("output: T")
      .Attr("T: numbertype")
      .Shape(CwiseShape)
      .Cpu<K>(RealTypes{});
}

OP("SparseDenseCwiseAdd")
    .With(CwiseOp<CwiseAdd>)
    .Doc("The entries of a sparse tensor plus the elements of a dense one at their places, which is broadcast.");
OP("SparseDenseCwiseMul")
    .With(CwiseOp<CwiseMul>)
    .Gradient(CwiseMulGrad)
    .Doc("The entries of a sparse tensor times the elements of a dense one at their places, which is broadcast.");
OP("SparseDenseCwiseDiv")
    .With(CwiseOp<CwiseDiv>)
    .Gradient(CwiseDivGrad)
    .Doc("The entries of a sparse tensor divided by the elements of a dense one at their places, which is broadcast.");

}  // namespace
}  // namespace millstream
