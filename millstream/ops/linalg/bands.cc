// SPDX-License-Identifier: Apache-2.0
// Products and systems of matrices that are given by their diagonals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/linalg/matrix.h"

namespace millstream {
namespace {

Shape BatchShape(const Tensor& t) { return Shape(t.shape().dims().first(t.rank() - 2)); }

Status CheckSameBatch(const Tensor& a, const Tensor& b) {
  if (BatchShape(a) == BatchShape(b)) return OkStatus();
  return errors::InvalidArgument("All input tensors must have the same outer dimensions.");
}

class TridiagonalMatMul final : public Kernel {
 public:
  explicit TridiagonalMatMul(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    constexpr const char* kNames[] = {"superdiagonal", "main diagonal", "subdiagonal"};
    const Tensor& rhs = ctx.input(3);
    RETURN_IF_ERROR(CheckMatrices(rhs, false));
    const int64_t n = rhs.dim(rhs.rank() - 2);
    for (int i = 0; i < 3; ++i) {
      const Tensor& d = ctx.input(i);
      RETURN_IF_ERROR(CheckMatrices(d, false));
      RETURN_IF_ERROR(CheckSameBatch(d, rhs));
      if (d.dim(d.rank() - 2) != 1 || d.dim(d.rank() - 1) != n) {
        return errors::InvalidArgument("Invalid ", kNames[i], " shape.");
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, rhs.shape()));
    return ComputeInDouble(rhs.dtype(), [&](auto type) -> Status {
      using S = typename decltype(type)::type;
      for (int64_t b = 0; rhs.num_elements() > 0 && b < BatchOfMatrices(rhs); ++b) {
        WriteMatrix(Product(ReadMatrix<S>(ctx.input(0), b), ReadMatrix<S>(ctx.input(1), b),
                            ReadMatrix<S>(ctx.input(2), b), ReadMatrix<S>(rhs, b)),
                    out, b);
      }
      return OkStatus();
    });
  }

 private:
  template <typename S>
  static Matrix<S> Product(const Matrix<S>& above, const Matrix<S>& main, const Matrix<S>& below, const Matrix<S>& x) {
    Matrix<S> y(x.rows, x.cols);
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t j = 0; j < x.cols; ++j) {
        y(i, j) = main(0, i) * x(i, j);
        if (i > 0) y(i, j) += below(0, i) * x(i - 1, j);
        if (i + 1 < x.rows) y(i, j) += above(0, i) * x(i + 1, j);
      }
    }
    return y;
  }
};

// Row i of the factored matrix has entries in the columns i, i + 1 and, where rows were exchanged, i + 2.
template <typename S>
class TridiagonalSystem {
 public:
  // Diagonals are the rows of `d`: above, main, below.
  TridiagonalSystem(const Matrix<S>& d, const Matrix<S>& rhs)
      : n_(d.cols), main_(n_), above_(n_), second_(n_), below_(n_), x_(rhs) {
    for (int64_t i = 0; i < n_; ++i) {
      main_[i] = d(1, i);
      if (i + 1 < n_) above_[i] = d(0, i);
      if (i > 0) below_[i] = d(2, i);
    }
  }
  // False if a pivot is zero, and `perturb` does not ask to go on with a small one.
  bool Solve(bool pivoting, bool perturb) {
    for (int64_t i = 0; i < n_; ++i) {
      if (pivoting && i + 1 < n_ && std::abs(below_[i + 1]) > std::abs(main_[i])) Exchange(i);
      if (main_[i] == S(0)) {
        if (!perturb) return false;
        main_[i] = S(std::numeric_limits<float>::epsilon());
      }
      if (i + 1 < n_) Eliminate(i);
    }
    for (int64_t i = n_ - 1; i >= 0; --i) {
      for (int64_t j = 0; j < x_.cols; ++j) {
        if (i + 1 < n_) x_(i, j) -= above_[i] * x_(i + 1, j);
        if (i + 2 < n_) x_(i, j) -= second_[i] * x_(i + 2, j);
        x_(i, j) /= main_[i];
      }
    }
    return true;
  }
  const Matrix<S>& x() const { return x_; }
  void SetNaN() { std::fill(x_.v.begin(), x_.v.end(), S(std::numeric_limits<double>::quiet_NaN())); }

 private:
  void Exchange(int64_t i) {
    std::swap(main_[i], below_[i + 1]);
    std::swap(above_[i], main_[i + 1]);
    std::swap(second_[i], above_[i + 1]);
    for (int64_t j = 0; j < x_.cols; ++j) std::swap(x_(i, j), x_(i + 1, j));
  }
  void Eliminate(int64_t i) {
    const S factor = below_[i + 1] / main_[i];
    main_[i + 1] -= factor * above_[i];
    above_[i + 1] -= factor * second_[i];
    for (int64_t j = 0; j < x_.cols; ++j) x_(i + 1, j) -= factor * x_(i, j);
  }

  const int64_t n_;
  std::vector<S> main_, above_, second_, below_;
  Matrix<S> x_;
};

class TridiagonalSolve final : public Kernel {
 public:
  explicit TridiagonalSolve(KernelInit& init)
      : pivoting_(init.Attr<bool>("partial_pivoting")), perturb_(init.Attr<bool>("perturb_singular")) {
    if (perturb_ && !pivoting_) {
      init.Fail(errors::InvalidArgument("Setting perturb_singular requires also setting partial_pivoting."));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &d = ctx.input(0), &rhs = ctx.input(1);
    RETURN_IF_ERROR(CheckMatrices(d, false));
    RETURN_IF_ERROR(CheckMatrices(rhs, false));
    RETURN_IF_ERROR(CheckSameBatch(d, rhs));
    const int64_t rows = d.dim(d.rank() - 2), n = d.dim(d.rank() - 1), equations = rhs.dim(rhs.rank() - 2);
    if (rows != 3) {
      return errors::InvalidArgument("Expected diagonals to be provided as a matrix with 3 rows, got ", rows, " rows.");
    }
    if (n != equations) {
      return errors::InvalidArgument("Expected the same number of left-hand sides and right-hand sides, got ", n,
                                     " and ", equations, ".");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, rhs.shape()));
    return ComputeInDouble(d.dtype(), [&](auto type) -> Status {
      using S = typename decltype(type)::type;
      for (int64_t b = 0; rhs.num_elements() > 0 && b < BatchOfMatrices(rhs); ++b) {
        TridiagonalSystem<S> system(ReadMatrix<S>(d, b), ReadMatrix<S>(rhs, b));
        if (!system.Solve(pivoting_, perturb_)) system.SetNaN();  // TensorFlow says so in its log, and goes on
        WriteMatrix(system.x(), out, b);
      }
      return OkStatus();
    });
  }

 private:
  const bool pivoting_, perturb_;
};

// Bands are rows: of a lower triangle the diagonal first, of an upper one last; entry i of each lies in row i.
class BandedTriangularSolve final : public Kernel {
 public:
  explicit BandedTriangularSolve(KernelInit& init)
      : lower_(init.Attr<bool>("lower")), adjoint_(init.Attr<bool>("adjoint")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &bands = ctx.input(0), &rhs = ctx.input(1);
    if (bands.rank() < 2) return errors::InvalidArgument("In[0] ndims must be >= 2: ", bands.rank());
    if (rhs.rank() < 2) return errors::InvalidArgument("In[1] ndims must be >= 2: ", rhs.rank());
    if (bands.num_elements() == 0 || rhs.num_elements() == 0) {
      return errors::InvalidArgument("In[", bands.num_elements() == 0 ? 0 : 1, "] must not be an empty tensor");
    }
    const int64_t k = bands.dim(bands.rank() - 2), n = bands.dim(bands.rank() - 1);
    if (n != rhs.dim(rhs.rank() - 2)) {
      return errors::InvalidArgument("In[0] mismatch In[1] shape: ", n, " vs. ", rhs.dim(rhs.rank() - 2), ": ",
                                     bands.shape().ToString(), " ", rhs.shape().ToString());
    }
    if (k > n) return errors::InvalidArgument("The number of bands ", k, " exceeds the size of the matrix ", n);
    auto batch = BroadcastShapes(BatchShape(bands), BatchShape(rhs));
    if (!batch.ok()) {
      return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                                     bands.shape().ToString(), " vs. ", rhs.shape().ToString());
    }
    std::vector<int64_t> dims(batch->dims().begin(), batch->dims().end());
    dims.insert(dims.end(), {n, rhs.dim(rhs.rank() - 1)});
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const BroadcastMap left(BatchShape(bands), *batch), right(BatchShape(rhs), *batch);
    return ComputeInDouble(bands.dtype(), [&](auto type) -> Status {
      using S = typename decltype(type)::type;
      for (int64_t b = 0; b < batch->num_elements(); ++b) {
        Matrix<S> x = ReadMatrix<S>(rhs, right.Offset(b));
        if (!Solve(ReadMatrix<S>(bands, left.Offset(b)), &x)) {
          return errors::InvalidArgument("Input matrix is not invertible.");
        }
        WriteMatrix(x, out, b);
      }
      return OkStatus();
    });
  }

 private:
  template <typename S>
  bool Solve(const Matrix<S>& bands, Matrix<S>* x) const {
    const int64_t k = bands.rows, n = bands.cols;
    const auto at = [&](int64_t i, int64_t j) {  // of the triangle that is solved
      const int64_t row = adjoint_ ? j : i, off = lower_ ? row - (adjoint_ ? i : j) : (adjoint_ ? i : j) - row;
      const S value = bands(lower_ ? off : k - 1 - off, row);
      return adjoint_ ? Conj(value) : value;
    };
    const bool forward = lower_ != adjoint_;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forward ? step : n - 1 - step;
      const S pivot = at(i, i);
      if (pivot == S(0)) return false;
      for (int64_t c = 0; c < x->cols; ++c) {
        S sum = (*x)(i, c);
        for (int64_t d = 1; d < k && d <= step; ++d) {
          const int64_t j = forward ? i - d : i + d;
          sum -= at(i, j) * (*x)(j, c);
        }
        (*x)(i, c) = sum / pivot;
      }
    }
    return true;
  }
  const bool lower_, adjoint_;
};

Status TridiagonalMatMulShape(ShapeContext& c) {
  PartialShape rhs;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(3), 2, &rhs));
  for (int i = 0; i < 3; ++i) {
    PartialShape d;
    RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(i), 2, &d));
    if (!rhs.rank_known() || !d.rank_known()) continue;
    RETURN_IF_ERROR(d.Slice(0, d.rank() - 2).MergeWith(rhs.Slice(0, rhs.rank() - 2)).status());
    int64_t one = 1, n = 0;
    RETURN_IF_ERROR(ShapeContext::MergeDim(d.dim(d.rank() - 2), one, &one));
    RETURN_IF_ERROR(ShapeContext::MergeDim(d.dim(d.rank() - 1), rhs.dim(rhs.rank() - 2), &n));
  }
  c.set_output(0, rhs);
  return OkStatus();
}

Status TridiagonalSolveShape(ShapeContext& c) {
  PartialShape d, rhs;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &d));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 2, &rhs));
  if (d.rank_known() && rhs.rank_known()) {
    RETURN_IF_ERROR(d.Slice(0, d.rank() - 2).MergeWith(rhs.Slice(0, rhs.rank() - 2)).status());
    int64_t three = 3, n = 0;
    RETURN_IF_ERROR(ShapeContext::MergeDim(d.dim(d.rank() - 2), three, &three));
    RETURN_IF_ERROR(ShapeContext::MergeDim(d.dim(d.rank() - 1), rhs.dim(rhs.rank() - 2), &n));
  }
  c.set_output(0, rhs);
  return OkStatus();
}

Status BandedShape(ShapeContext& c) {
  PartialShape d, rhs;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &d));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 2, &rhs));
  if (!d.rank_known() || !rhs.rank_known()) return OkStatus();
  int64_t n = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(d.dim(d.rank() - 1), rhs.dim(rhs.rank() - 2), &n));
  const int64_t k = d.dim(d.rank() - 2);
  if (k >= 0 && (k == 0 || (n >= 0 && k > n))) {
    return errors::InvalidArgument("The number of bands must be positive, and not more than the size of the matrix");
  }
  ASSIGN_OR_RETURN(const PartialShape batch,
                   ShapeContext::Broadcast(d.Slice(0, d.rank() - 2), rhs.Slice(0, rhs.rank() - 2)));
  c.set_output(0, batch.Concatenate(PartialShape({n, rhs.dim(rhs.rank() - 1)})));
  return OkStatus();
}

OP("TridiagonalMatMul")
    .Input("superdiag: T")
    .Input("maindiag: T")
    .Input("subdiag: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("T: {double, float, complex64, complex128}")
    .Shape(TridiagonalMatMulShape)
    .CpuFor<TridiagonalMatMul>(LinalgTypes{})
    .Doc("Products of tridiagonal matrices, given by their diagonals, and others.");

OP("TridiagonalSolve")
    .Input("diagonals: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("partial_pivoting: bool = true")
    .Attr("perturb_singular: bool = false")
    .Attr("T: {double, float, complex64, complex128}")
    .Shape(TridiagonalSolveShape)
    .CpuFor<TridiagonalSolve>(LinalgTypes{})
    .Doc("The x of matrix x = rhs, for tridiagonal matrices given by their diagonals.");

OP("BandedTriangularSolve")
    .Input("matrix: T")
    .Input("rhs: T")
    .Output("output: T")
    .Attr("lower: bool = true")
    .Attr("adjoint: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(BandedShape)
    .CpuFor<BandedTriangularSolve>(LinalgTypes{})
    .Doc("The x of matrix x = rhs, for triangular matrices given by their bands.");

}  // namespace
}  // namespace millstream
