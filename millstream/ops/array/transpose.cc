// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/strided_copy.h"

namespace millstream {
namespace {

// Checks that `perm` is a permutation of [0, rank); negative entries count from the end.
Status NormalizePermutation(int rank, Dims* perm) {
  if (static_cast<int>(perm->size()) != rank) {
    return errors::InvalidArgument("transpose expects a vector of size ", rank, ". But input(1) is a vector of size ",
                                   perm->size());
  }
  absl::InlinedVector<bool, 8> seen(rank, false);
  for (int64_t& p : *perm) {
    const int64_t given = p;
    if (p < 0) p += rank;
    if (p < 0 || p >= rank) return errors::InvalidArgument(given, " is out of range [0 .. ", rank, ")");
    seen[p] = true;
  }
  for (int d = 0; d < rank; ++d) {
    if (!seen[d]) return errors::InvalidArgument(d, " is missing from the permutation.");
  }
  return OkStatus();
}

template <typename T>
void ConjugateInPlace(const KernelContext& ctx, Tensor* t) {
  T* values = t->data<T>();
  ctx.ParallelFor(t->num_elements(), 1.0, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = std::conj(values[i]);
  });
}

// True if the order in memory stays: only dimensions of size one move.
bool KeepsOrder(const Shape& in, const Dims& perm) {
  int64_t last = -1;
  for (const int64_t p : perm) {
    if (in.dim(static_cast<int>(p)) == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

Status TransposeTo(KernelContext& ctx, bool conjugate) {
  const Tensor& in = ctx.input(0);
  Dims perm, dims, steps(in.rank());
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "perm", &perm));
  RETURN_IF_ERROR(NormalizePermutation(in.rank(), &perm));
  for (const int64_t p : perm) dims.push_back(in.dim(static_cast<int>(p)));
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  conjugate &= IsComplex(in.dtype());
  if (!conjugate && KeepsOrder(in.shape(), perm)) {
    ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  int64_t step = 1;
  for (int d = in.rank() - 1; d >= 0; --d) {
    steps[d] = step;
    step *= in.dim(d);
  }
  StridedCopy copy;
  int64_t to_step = shape.num_elements();
  for (int d = 0; d < in.rank(); ++d) {
    to_step /= shape.dim(d);
    copy.Add(shape.dim(d), steps[perm[d]], to_step);
  }
  copy.Run(ctx, in.dtype(), in.raw(), out->raw());
  if (conjugate && in.dtype() == DType::kComplex64) ConjugateInPlace<std::complex<float>>(ctx, out);
  if (conjugate && in.dtype() == DType::kComplex128) ConjugateInPlace<std::complex<double>>(ctx, out);
  return OkStatus();
}

Status TransposeCpu(KernelContext& ctx) { return TransposeTo(ctx, false); }
Status ConjugateTransposeCpu(KernelContext& ctx) { return TransposeTo(ctx, true); }

Status TransposeShape(ShapeContext& c) {
  PartialShape in = c.input(0), perm_shape;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &perm_shape));
  std::vector<int64_t> values;
  const bool known = c.ConstantInts(1, &values);
  int64_t rank = known ? static_cast<int64_t>(values.size()) : perm_shape.dim(0);
  RETURN_IF_ERROR(ShapeContext::MergeDim(rank, in.rank(), &rank));
  if (rank < 0 || rank > kMaxRank) return OkStatus();
  RETURN_IF_ERROR(ShapeContext::WithRank(in, static_cast<int>(rank), &in));
  PartialShape out = PartialShape::UnknownOfRank(static_cast<int>(rank));
  if (known) {
    Dims perm(values.begin(), values.end());
    RETURN_IF_ERROR(NormalizePermutation(static_cast<int>(rank), &perm));
    for (int d = 0; d < rank; ++d) out.set_dim(d, in.dim(static_cast<int>(perm[d])));
  } else if (rank == 1) {
    out = in;
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status TransposeGrad(GradContext& g) {
  g.set_dx(0, g.Op("Transpose", {g.dy(0), g.Op("InvertPermutation", {g.input(1)})}));
  return OkStatus();
}

Status ConjugateTransposeGrad(GradContext& g) {
  g.set_dx(0, g.Op("ConjugateTranspose", {g.dy(0), g.Op("InvertPermutation", {g.input(1)})}));
  return OkStatus();
}

template <typename T>
class InvertPermutationKernel : public Kernel {
 public:
  explicit InvertPermutationKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 1) return errors::InvalidArgument("invert_permutation expects a 1D vector.");
    const int64_t n = in.num_elements();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const T* x = in.data<T>();
    T* y = out->data<T>();
    std::fill_n(y, n, T{-1});
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] < 0 || x[i] >= n) return errors::InvalidArgument(x[i], " is not between 0 and ", n);
      if (y[x[i]] != -1) return errors::InvalidArgument(x[i], " is duplicated in the input.");
      y[x[i]] = static_cast<T>(i);
    }
    return OkStatus();
  }
};

Status InvertPermutationShape(ShapeContext& c) {
  PartialShape x;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &x));
  c.set_output(0, std::move(x));
  return OkStatus();
}

OP("Transpose")
    .Input("x: T")
    .Input("perm: Tperm")
    .Output("y: T")
    .Attr("T: type")
    .Attr("Tperm: {int32, int64} = DT_INT32")
    .Shape(TransposeShape)
    .Gradient(TransposeGrad)
    .Cpu(TransposeCpu)
    .HostMemory("perm")
    .Doc("Reorders the dimensions: dimension i of y is dimension perm[i] of x.");

OP("ConjugateTranspose")
    .Input("x: T")
    .Input("perm: Tperm")
    .Output("y: T")
    .Attr("T: type")
    .Attr("Tperm: {int32, int64} = DT_INT32")
    .Shape(TransposeShape)
    .Gradient(ConjugateTransposeGrad)
    .Cpu(ConjugateTransposeCpu)
    .HostMemory("perm")
    .Doc("The complex conjugate of the transpose.");

OP("InvertPermutation")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {int32, int64} = DT_INT32")
    .Shape(InvertPermutationShape)
    .NotDifferentiable()
    .Cpu<InvertPermutationKernel>(IndexTypes{}, "T")
    .HostMemory("x")
    .HostMemory("y")
    .Doc("The permutation y with y[x[i]] = i.");

}  // namespace
}  // namespace millstream
