// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/strided_copy.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

// Copies n elements of each of `batch` lines onto the diagonals of `batch` matrices, or back.
void CopyDiagonals(const KernelContext& ctx, DType dtype, int64_t batch, int64_t n, int64_t rows, int64_t cols,
                   const void* line, void* matrix, bool to_matrix) {
  StridedCopy copy;
  copy.Add(batch, to_matrix ? n : rows * cols, to_matrix ? rows * cols : n);
  copy.Add(n, to_matrix ? 1 : cols + 1, to_matrix ? cols + 1 : 1);
  copy.Run(ctx, dtype, to_matrix ? line : matrix, to_matrix ? matrix : const_cast<void*>(line));
}

Status MatrixDiagCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() < 1)
    return errors::InvalidArgument("input must be at least 1-dim, received shape: ", in.shape().ToString());
  const int64_t n = in.dim(in.rank() - 1);
  Dims dims(in.shape().dims().begin(), in.shape().dims().end());
  dims.push_back(n);
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  FillZero(ctx, out);
  if (shape.num_elements() == 0) return OkStatus();
  CopyDiagonals(ctx, in.dtype(), in.num_elements() / n, n, n, n, in.raw(), out->raw(), true);
  return OkStatus();
}

Status MatrixDiagPartCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() < 2)
    return errors::InvalidArgument("input must be at least 2-dim, received shape: ", in.shape().ToString());
  const int64_t rows = in.dim(in.rank() - 2), cols = in.dim(in.rank() - 1), n = std::min(rows, cols);
  Dims dims(in.shape().dims().begin(), in.shape().dims().end() - 2);
  dims.push_back(n);
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  CopyDiagonals(ctx, in.dtype(), shape.num_elements() / n, n, rows, cols, out->raw(), const_cast<void*>(in.raw()),
                false);
  return OkStatus();
}

Status MatrixSetDiagCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  const Tensor& diagonal = ctx.input(1);
  if (in.rank() < 2)
    return errors::InvalidArgument("input must be at least 2-dim, received shape: ", in.shape().ToString());
  const int64_t rows = in.dim(in.rank() - 2), cols = in.dim(in.rank() - 1), n = std::min(rows, cols);
  Dims dims(in.shape().dims().begin(), in.shape().dims().end() - 2);
  dims.push_back(n);
  ASSIGN_OR_RETURN(const Shape expected, MakeShape(dims));
  if (!(diagonal.shape() == expected)) {
    return errors::InvalidArgument(
        "must have diagonal.shape == input.shape[:-2] + min(input.shape[-2:]), but received input shape: ",
        in.shape().ToString(), " and diagonal shape: ", diagonal.shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  if (out->raw() != in.raw()) {
    DispatchBlob(in.dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      ParallelCopy(ctx, BlobData<T>(in), in.num_elements(), BlobData<T>(out));
    });
  }
  CopyDiagonals(ctx, in.dtype(), diagonal.num_elements() / n, n, rows, cols, diagonal.raw(), out->raw(), true);
  return OkStatus();
}

Status DiagCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() < 1) return errors::InvalidArgument("Input must be at least rank 1, got 0");
  Dims dims(in.shape().dims().begin(), in.shape().dims().end());
  dims.insert(dims.end(), in.shape().dims().begin(), in.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  FillZero(ctx, out);
  const int64_t n = in.num_elements();
  if (n > 0) CopyDiagonals(ctx, in.dtype(), 1, n, n, n, in.raw(), out->raw(), true);
  return OkStatus();
}

Status DiagPartCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  const int half = in.rank() / 2;
  if (in.rank() == 0 || in.rank() % 2 != 0) {
    return errors::InvalidArgument("The rank of the tensor should be even and positive, got shape ",
                                   in.shape().ToString());
  }
  for (int d = 0; d < half; ++d) {
    if (in.dim(d) != in.dim(d + half)) {
      return errors::InvalidArgument("Invalid shape ", in.shape().ToString(), ": dimensions ", d, " and ", d + half,
                                     " do not match.");
    }
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape(in.shape().dims().subspan(0, half))));
  const int64_t n = out->num_elements();
  if (n > 0) CopyDiagonals(ctx, in.dtype(), 1, n, n, n, out->raw(), const_cast<void*>(in.raw()), false);
  return OkStatus();
}

Status MatrixDiagShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  if (in.rank_known()) c.set_output(0, in.Concatenate(in.Slice(in.rank() - 1, in.rank())));
  return OkStatus();
}

Status MatrixDiagPartShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &in));
  if (!in.rank_known()) return OkStatus();
  const int64_t rows = in.dim(in.rank() - 2), cols = in.dim(in.rank() - 1);
  c.set_output(
      0, in.Slice(0, in.rank() - 2).Concatenate(PartialShape({rows < 0 || cols < 0 ? -1 : std::min(rows, cols)})));
  return OkStatus();
}

Status DiagShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  if (in.rank_known()) c.set_output(0, in.Concatenate(in));
  return OkStatus();
}

Status DiagPartShape(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.rank_known()) return OkStatus();
  const int half = in.rank() / 2;
  if (in.rank() == 0 || in.rank() % 2 != 0) {
    return errors::InvalidArgument("Input must have even and non-zero rank, input rank is ", in.rank());
  }
  ASSIGN_OR_RETURN(PartialShape out, in.Slice(0, half).MergeWith(in.Slice(half, in.rank())));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status MatrixDiagGrad(GradContext& g) {
  g.set_dx(0, g.Op("MatrixDiagPart", {g.dy(0)}));
  return OkStatus();
}

Status MatrixDiagPartGrad(GradContext& g) {
  const PartialShape shape = g.scope().ShapeOf(g.input(0));
  const int r = shape.rank();
  if (r >= 2 && shape.dim(r - 1) >= 0 && shape.dim(r - 1) == shape.dim(r - 2)) {
    g.set_dx(0, g.Op("MatrixDiag", {g.dy(0)}));
  } else {
    g.set_dx(0, g.Op("MatrixSetDiag", {g.Op("ZerosLike", {g.input(0)}), g.dy(0)}));
  }
  return OkStatus();
}

Status MatrixSetDiagGrad(GradContext& g) {
  const Output dy = g.dy(0);
  g.set_dx(0, g.Op("MatrixSetDiag", {dy, g.Op("ZerosLike", {g.input(1)})}));
  g.set_dx(1, g.Op("MatrixDiagPart", {dy}));
  return OkStatus();
}

Status DiagGrad(GradContext& g) {
  g.set_dx(0, g.Op("DiagPart", {g.dy(0)}));
  return OkStatus();
}

Status DiagPartGrad(GradContext& g) {
  g.set_dx(0, g.Op("Diag", {g.dy(0)}));
  return OkStatus();
}

OP("MatrixDiag")
    .Input("diagonal: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(MatrixDiagShape)
    .Gradient(MatrixDiagGrad)
    .Cpu(MatrixDiagCpu)
    .Doc("Matrices with the given diagonals and zeros elsewhere.");

OP("MatrixDiagPart")
    .Input("input: T")
    .Output("diagonal: T")
    .Attr("T: type")
    .Shape(MatrixDiagPartShape)
    .Gradient(MatrixDiagPartGrad)
    .Cpu(MatrixDiagPartCpu)
    .Doc("The diagonals of matrices.");

// The diagonal of [..., m, n] is [..., min(m, n)].
Status MatrixSetDiagShape(ShapeContext& c) {
  PartialShape in, diagonal;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &in));
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &diagonal));
  c.set_output(0, in);
  if (!in.rank_known()) return OkStatus();
  const int rank = in.rank();
  const int64_t m = in.dim(rank - 2), n = in.dim(rank - 1);
  PartialShape expected = in.Slice(0, rank - 1);
  expected.set_dim(rank - 2, m < 0 || n < 0 ? -1 : std::min(m, n));
  return expected.MergeWith(diagonal).status();
}

OP("MatrixSetDiag")
    .Input("input: T")
    .Input("diagonal: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(MatrixSetDiagShape)
    .Gradient(MatrixSetDiagGrad)
    .Cpu(MatrixSetDiagCpu)
    .Doc("Matrices with other diagonals.");

OP("Diag")
    .Input("diagonal: T")
    .Output("output: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Shape(DiagShape)
    .Gradient(DiagGrad)
    .Cpu(DiagCpu)
    .Doc("A tensor of twice the rank with the input on its diagonal.");

OP("DiagPart")
    .Input("input: T")
    .Output("diagonal: T")
    .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
    .Shape(DiagPartShape)
    .Gradient(DiagPartGrad)
    .Cpu(DiagPartCpu)
    .Doc("The diagonal of a tensor whose dimensions come in two equal halves.");

OP("BatchMatrixDiag")
    .Input("diagonal: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(MatrixDiagCpu)
    .Doc("The old name of MatrixDiag.");

OP("BatchMatrixDiagPart")
    .Input("input: T")
    .Output("diagonal: T")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(MatrixDiagPartCpu)
    .Doc("The old name of MatrixDiagPart.");

OP("BatchMatrixSetDiag")
    .Input("input: T")
    .Input("diagonal: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(MatrixSetDiagCpu)
    .Doc("The old name of MatrixSetDiag.");

}  // namespace
}  // namespace millstream
