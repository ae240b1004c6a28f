// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

// The main diagonals of a batch of matrices, and lines that hold them.
struct Diagonals {
  int64_t batch, n, rows, cols;

  Status ToMatrices(Call& call, const Tensor& lines, Tensor* matrices) const {
    DeviceStridedCopy copy;
    copy.Add(batch, n, rows * cols);
    copy.Add(n, 1, cols + 1);
    return copy.Launch(call, lines.dtype(), lines.raw(), 0, matrices->raw(), 0);
  }
  Status FromMatrices(Call& call, const Tensor& matrices, Tensor* lines) const {
    DeviceStridedCopy copy;
    copy.Add(batch, rows * cols, n);
    copy.Add(n, cols + 1, 1);
    return copy.Launch(call, lines->dtype(), matrices.raw(), 0, lines->raw(), 0);
  }
};

class MatrixDiag final : public CudaKernel {
 public:
  explicit MatrixDiag(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    if (in.rank() < 1) {
      return errors::InvalidArgument("input must be at least 1-dim, received shape: ", in.shape().ToString());
    }
    const int64_t n = in.dim(in.rank() - 1);
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims.push_back(n);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    RETURN_IF_ERROR(FillZero(call, out));
    return Diagonals{in.num_elements() / n, n, n, n}.ToMatrices(call, in, out);
  }
};

// The shape of the diagonals of matrices, and their sizes. InvalidArgument unless there are matrices.
StatusOr<Shape> ShapeOfDiagonals(const Shape& in, Diagonals* d) {
  if (in.rank() < 2) return errors::InvalidArgument("input must be at least 2-dim, received shape: ", in.ToString());
  d->rows = in.dim(in.rank() - 2);
  d->cols = in.dim(in.rank() - 1);
  d->n = std::min(d->rows, d->cols);
  d->batch = in.Product(0, in.rank() - 2);
  Dims dims(in.dims().begin(), in.dims().end() - 2);
  dims.push_back(d->n);
  return MakeShape(dims);
}

class MatrixDiagPart final : public CudaKernel {
 public:
  explicit MatrixDiagPart(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    Diagonals d{};
    ASSIGN_OR_RETURN(const Shape shape, ShapeOfDiagonals(in.shape(), &d));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    return d.FromMatrices(call, in, out);
  }
};

class MatrixSetDiag final : public CudaKernel {
 public:
  explicit MatrixSetDiag(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor &in = call.input(0), &diagonal = call.input(1);
    Diagonals d{};
    ASSIGN_OR_RETURN(const Shape expected, ShapeOfDiagonals(in.shape(), &d));
    if (!(diagonal.shape() == expected)) {
      return errors::InvalidArgument(
          "must have diagonal.shape == input.shape[:-2] + min(input.shape[-2:]), but received input shape: ",
          in.shape().ToString(), " and diagonal shape: ", diagonal.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, in.shape()));
    if (out->num_elements() == 0) return OkStatus();
    if (out->raw() != call.input(0).raw()) {
      RETURN_IF_CUDA_ERROR(
          cudaMemcpyAsync(out->raw(), call.input(0).raw(), out->ByteSize(), cudaMemcpyDeviceToDevice, call.stream()));
    }
    return d.ToMatrices(call, diagonal, out);
  }
};

class Diag final : public CudaKernel {
 public:
  explicit Diag(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    if (in.rank() < 1) return errors::InvalidArgument("Input must be at least rank 1, got 0");
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims.insert(dims.end(), in.shape().dims().begin(), in.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t n = in.num_elements();
    if (n == 0) return OkStatus();
    RETURN_IF_ERROR(FillZero(call, out));
    return Diagonals{1, n, n, n}.ToMatrices(call, in, out);
  }
};

class DiagPart final : public CudaKernel {
 public:
  explicit DiagPart(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    const int half = in.rank() / 2;
    if (in.rank() == 0 || in.rank() % 2 != 0) {
      return errors::InvalidArgument("The rank of the tensor should be even and positive, got shape ",
                                     in.shape().ToString());
    }
    for (int d = 0; d < half; ++d) {
      if (in.dim(d) == in.dim(d + half)) continue;
      return errors::InvalidArgument("Invalid shape ", in.shape().ToString(), ": dimensions ", d, " and ", d + half,
                                     " do not match.");
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, Shape(in.shape().dims().subspan(0, half))));
    const int64_t n = out->num_elements();
    return n == 0 ? OkStatus() : Diagonals{1, n, n, n}.FromMatrices(call, in, out);
  }
};

using DiagTypes = Join<FloatTypes, Join<IndexTypes, ComplexTypes>>;

CUDA_KERNEL("MatrixDiag").ClassFor<MatrixDiag>(PodTypes{});
CUDA_KERNEL("MatrixDiagPart").ClassFor<MatrixDiagPart>(PodTypes{});
CUDA_KERNEL("MatrixSetDiag").ClassFor<MatrixSetDiag>(PodTypes{});
CUDA_KERNEL("BatchMatrixDiag").ClassFor<MatrixDiag>(PodTypes{});
CUDA_KERNEL("BatchMatrixDiagPart").ClassFor<MatrixDiagPart>(PodTypes{});
CUDA_KERNEL("BatchMatrixSetDiag").ClassFor<MatrixSetDiag>(PodTypes{});
CUDA_KERNEL("Diag").ClassFor<Diag>(DiagTypes{});
CUDA_KERNEL("DiagPart").ClassFor<DiagPart>(DiagTypes{});

}  // namespace
}  // namespace millstream::cuda
