// SPDX-License-Identifier: Apache-2.0
// Factorizations: LU, QR, singular values, eigenvalues of Hermitian matrices.
#include <algorithm>
#include <limits>

#include "millstream/ops/linalg/factor_gradients.h"
#include "millstream/ops/linalg/gradients.h"
#include "millstream/ops/linalg/matrix.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// An output like the input, but with other last two dimensions, or one.
StatusOr<Tensor*> AllocateLike(KernelContext& ctx, int output, std::initializer_list<int64_t> last) {
  const std::span<const int64_t> of_input = ctx.input(0).shape().dims();
  std::vector<int64_t> dims(of_input.begin(), of_input.end() - 2);
  dims.insert(dims.end(), last.begin(), last.end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ctx.AllocateOutput(output, shape);
}

Status LuCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  RETURN_IF_ERROR(CheckMatrices(in, true));
  const int64_t n = in.dim(in.rank() - 1);
  ASSIGN_OR_RETURN(Tensor * lu, ctx.AllocateOutput(0, in.shape()));
  ASSIGN_OR_RETURN(Tensor * order, AllocateLike(ctx, 1, {n}));
  if (in.num_elements() == 0) return OkStatus();
  return ForEachMatrix(ctx, 0.7, [&]<typename S>(Matrix<S> a, int64_t b) -> Status {
    const LuFactors<S> f = Lu(std::move(a));
    if (f.singular) return errors::InvalidArgument("Input is not invertible.");
    WriteMatrix(f.lu, lu, b);
    DispatchOver(IndexTypes{}, order->dtype(), [&](auto index) {
      std::copy(f.order.begin(), f.order.end(), order->data<typename decltype(index)::type>() + b * n);
    });
    return OkStatus();
  });
}

class QrKernel : public Kernel {
 public:
  explicit QrKernel(KernelInit& init) : full_(init.Attr<bool>("full_matrices")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, false));
    const int64_t m = in.dim(in.rank() - 2), n = in.dim(in.rank() - 1), k = full_ ? m : std::min(m, n);
    ASSIGN_OR_RETURN(Tensor * q, AllocateLike(ctx, 0, {m, k}));
    ASSIGN_OR_RETURN(Tensor * r, AllocateLike(ctx, 1, {k, n}));
    if (q->num_elements() == 0 && r->num_elements() == 0) return OkStatus();  // however many there are
    return ForEachMatrix(ctx, 4, [&]<typename S>(const Matrix<S>& a, int64_t b) {
      Matrix<S> left(m, k), right(k, n);
      math::Linalg<S>().qr(m, n, k, a.v.data(), left.v.data(), right.v.data());
      WriteMatrix(left, q, b);
      WriteMatrix(right, r, b);
      return OkStatus();
    });
  }

 private:
  const bool full_;
};

class SvdKernel : public Kernel {
 public:
  explicit SvdKernel(KernelInit& init)
      : vectors_(init.Attr<bool>("compute_uv")), full_(init.Attr<bool>("full_matrices")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, false));
    const int64_t m = in.dim(in.rank() - 2), n = in.dim(in.rank() - 1), k = std::min(m, n);
    ASSIGN_OR_RETURN(Tensor * s, AllocateLike(ctx, 0, {k}));
    ASSIGN_OR_RETURN(Tensor * u,
                     vectors_ ? AllocateLike(ctx, 1, {m, full_ ? m : k}) : ctx.AllocateOutput(1, Shape({0})));
    ASSIGN_OR_RETURN(Tensor * v,
                     vectors_ ? AllocateLike(ctx, 2, {n, full_ ? n : k}) : ctx.AllocateOutput(2, Shape({0})));
    if (s->num_elements() == 0 && u->num_elements() == 0 && v->num_elements() == 0) return OkStatus();
    return ForEachMatrix(ctx, 20, [&]<typename S>(const Matrix<S>& a, int64_t b) {
      std::vector<RealPart<S>> values(static_cast<size_t>(k));
      Matrix<S> left, right;
      if (vectors_) {
        left = Matrix<S>(m, full_ ? m : k);
        right = Matrix<S>(n, full_ ? n : k);
      }
      Decompose(a, &values, &left, &right);
      WriteElements(values.data(), k, s, b * k);
      if (!vectors_) return OkStatus();
      WriteMatrix(left, u, b);
      WriteMatrix(right, v, b);
      return OkStatus();
    });
  }

 private:
  template <typename S>
  void Decompose(const Matrix<S>& a, std::vector<RealPart<S>>* s, Matrix<S>* u, Matrix<S>* v) const {
    if (s->empty()) {
      *u = Matrix<S>::Identity(u->rows);
      *v = Matrix<S>::Identity(v->rows);
      return;
    }
    if (math::Linalg<S>().svd(a.rows, a.cols, a.v.data(), full_, s->data(), vectors_ ? u->v.data() : nullptr,
                              vectors_ ? v->v.data() : nullptr)) {
      return;
    }
    constexpr auto kNaN = std::numeric_limits<RealPart<S>>::quiet_NaN();  // as the input was not finite
    std::fill(s->begin(), s->end(), kNaN);
    std::fill(u->v.begin(), u->v.end(), S(kNaN));
    std::fill(v->v.begin(), v->v.end(), S(kNaN));
  }

  const bool vectors_, full_;
};

template <typename S>
Status HermitianEigen(const Matrix<S>& a, RealPart<S>* values, S* vectors) {
  if (math::Linalg<S>().hermitian_eigen(a.rows, a.v.data(), values, vectors)) return OkStatus();
  return errors::InvalidArgument("Self-adjoint eigen decomposition was not successful. The input might not be valid.");
}

class SelfAdjointEig : public Kernel {
 public:
  explicit SelfAdjointEig(KernelInit& init) : vectors_(init.Attr<bool>("compute_v")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(in, true));
    const int64_t n = in.dim(in.rank() - 1);
    ASSIGN_OR_RETURN(Tensor * e, AllocateLike(ctx, 0, {n}));
    ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(1, vectors_ ? in.shape() : Shape({0})));
    if (in.num_elements() == 0) return OkStatus();
    return ForEachMatrix(ctx, 9, [&]<typename S>(const Matrix<S>& a, int64_t b) -> Status {
      std::vector<RealPart<S>> values(static_cast<size_t>(n));
      Matrix<S> vectors(vectors_ ? n : 0, n);
      RETURN_IF_ERROR(HermitianEigen(a, values.data(), vectors_ ? vectors.v.data() : nullptr));
      WriteElements(values.data(), n, e, b * n);
      if (vectors_) WriteMatrix(vectors, v, b);
      return OkStatus();
    });
  }

 private:
  const bool vectors_;
};

// The first row of each result holds the eigenvalues, the others the vectors.
Status EigInOneCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  RETURN_IF_ERROR(CheckMatrices(in, true));
  const int64_t n = in.dim(in.rank() - 1);
  std::vector<int64_t> dims(in.shape().dims().begin(), in.shape().dims().end());
  if (n == std::numeric_limits<int64_t>::max()) return errors::InvalidArgument("matrices of ", n, " rows");
  dims[dims.size() - 2] = n + 1;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (in.num_elements() == 0) return OkStatus();
  return ForEachMatrix(ctx, 9, [&]<typename S>(const Matrix<S>& a, int64_t b) -> Status {
    std::vector<RealPart<S>> values(static_cast<size_t>(n));
    Matrix<S> both(n + 1, n);
    RETURN_IF_ERROR(HermitianEigen(a, values.data(), &both(1, 0)));
    std::copy(values.begin(), values.end(), both.v.begin());
    WriteMatrix(both, out, b);
    return OkStatus();
  });
}

Status EigInOneShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(SquareMatrices(c, 0, &in));
  if (!in.rank_known()) return OkStatus();
  const int64_t n = in.dim(in.rank() - 1);
  if (n == std::numeric_limits<int64_t>::max()) return errors::InvalidArgument("matrices of ", n, " rows");
  if (n >= 0) in.set_dim(in.rank() - 2, n + 1);
  c.set_output(0, std::move(in));
  return OkStatus();
}

Status LuShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(SquareMatrices(c, 0, &in));
  c.set_output(0, in);
  if (in.rank_known()) c.set_output(1, in.Slice(0, in.rank() - 1));
  return OkStatus();
}
Status QrShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &in));
  if (!in.rank_known()) return OkStatus();
  bool full = false;
  RETURN_IF_ERROR(c.GetAttr("full_matrices", &full));
  const int64_t m = in.dim(in.rank() - 2), n = in.dim(in.rank() - 1);
  const int64_t k = full ? m : m < 0 || n < 0 ? -1 : std::min(m, n);
  const PartialShape batch = in.Slice(0, in.rank() - 2);
  c.set_output(0, batch.Concatenate(PartialShape({m, k})));
  c.set_output(1, batch.Concatenate(PartialShape({k, n})));
  return OkStatus();
}
Status SvdShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &in));
  bool vectors = false, full = false;
  RETURN_IF_ERROR(c.GetAttr("compute_uv", &vectors));
  RETURN_IF_ERROR(c.GetAttr("full_matrices", &full));
  if (!vectors) {
    c.set_output(1, PartialShape({0}));
    c.set_output(2, PartialShape({0}));
  }
  if (!in.rank_known()) return OkStatus();
  const int64_t m = in.dim(in.rank() - 2), n = in.dim(in.rank() - 1), k = m < 0 || n < 0 ? -1 : std::min(m, n);
  const PartialShape batch = in.Slice(0, in.rank() - 2);
  c.set_output(0, batch.Concatenate(PartialShape({k})));
  if (vectors) {
    c.set_output(1, batch.Concatenate(PartialShape({m, full ? m : k})));
    c.set_output(2, batch.Concatenate(PartialShape({n, full ? n : k})));
  }
  return OkStatus();
}
// v (diag(de) + f * (v^H dv)) v^H with f = 1 / (e_j - e_i) off the diagonal; only the lower half was read.
Status EigGradient(GradContext& g) {
  const LinalgGrad m(g);
  if (!g.Attr<bool>("compute_v")) {
    Node* again = g.Add("SelfAdjointEigV2", {g.input(0)});
    if (again == nullptr) return g.status();
    return m.EigGrad(Output(again, 0), Output(again, 1), g.dy(0), Output());
  }
  return m.EigGrad(g.output(0), g.output(1), g.dy(0), g.has_dy(1) ? g.dy(1) : Output());
}

OP("Lu")
    .Input("input: T")
    .Output("lu: T")
    .Output("p: output_idx_type")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Attr("output_idx_type: {int32, int64} = DT_INT32")
    .Shape(LuShape)
    .CpuFor<LinalgFunction<LuCpu>>(LinalgTypes{})
    .Expensive()
    .Doc("Lower and upper triangular factors of matrices, in one matrix, and the order of rows they are for.");

OP("Qr")
    .Input("input: T")
    .Output("q: T")
    .Output("r: T")
    .Attr("full_matrices: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(QrShape)
    .Gradient(QrGradient)
    .CpuFor<QrKernel>(Join<LinalgTypes, Types<Half>>{})
    .Expensive()
    .Doc("Orthonormal and upper triangular factors of matrices.");

OP("Svd")
    .Input("input: T")
    .Output("s: T")
    .Output("u: T")
    .Output("v: T")
    .Attr("compute_uv: bool = true")
    .Attr("full_matrices: bool = false")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(SvdShape)
    .Gradient(SvdGradient)
    .CpuFor<SvdKernel>(LinalgTypes{})
    .Expensive()
    .Doc("Singular values, falling, and vectors of matrices.");

OP("BatchSvd")
    .Input("input: T")
    .Output("s: T")
    .Output("u: T")
    .Output("v: T")
    .Attr("compute_uv: bool = true")
    .Attr("full_matrices: bool = false")
    .Attr("T: {double, float, complex64, complex128}")
    .Shape(UnknownShape)
    .CpuFor<SvdKernel>(LinalgTypes{})
    .Expensive()
    .Doc("The old name of Svd.");

OP("SelfAdjointEigV2")
    .Input("input: T")
    .Output("e: T")
    .Output("v: T")
    .Attr("compute_v: bool = true")
    .Attr("T: {double, float, half, complex64, complex128}")
    .Shape(EigenShape)
    .Gradient(EigGradient)
    .CpuFor<SelfAdjointEig>(LinalgTypes{})
    .Expensive()
    .Doc("Eigenvalues, growing, and eigenvectors of Hermitian matrices.");

OP("BatchSelfAdjointEigV2")
    .Input("input: T")
    .Output("e: T")
    .Output("v: T")
    .Attr("compute_v: bool = true")
    .Attr("T: {double, float}")
    .Shape(UnknownShape)
    .CpuFor<SelfAdjointEig>(Types<float, double>{})
    .Expensive()
    .Doc("The old name of SelfAdjointEigV2.");

OP("SelfAdjointEig")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float, half}")
    .Shape(EigInOneShape)
    .CpuFor<LinalgFunction<EigInOneCpu>>(Types<float, double>{})
    .Expensive()
    .Doc("Eigenvalues, growing, in the first row, and below it the eigenvectors of symmetric matrices.");

OP("BatchSelfAdjointEig")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: {double, float}")
    .Shape(UnknownShape)
    .CpuFor<LinalgFunction<EigInOneCpu>>(Types<float, double>{})
    .Expensive()
    .Doc("Another name of SelfAdjointEig.");

}  // namespace
}  // namespace millstream
