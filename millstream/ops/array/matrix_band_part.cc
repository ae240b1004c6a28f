// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

// `lower` and `upper` diagonals beside the main one stay (negative: all); the rest becomes zero.
Status BandPartCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() < 2)
    return errors::InvalidArgument("input must be at least 2-dim, received shape: ", in.shape().ToString());
  const int64_t rows = in.dim(in.rank() - 2), cols = in.dim(in.rank() - 1);
  int64_t lower = 0, upper = 0;
  RETURN_IF_ERROR(ReadIntScalar(ctx.input(1), "num_lower", &lower));
  RETURN_IF_ERROR(ReadIntScalar(ctx.input(2), "num_upper", &upper));
  if (lower > rows)
    return errors::InvalidArgument("num_lower must be negative or less or equal to number of rows (", rows,
                                   ") got: ", lower);
  if (upper > cols)
    return errors::InvalidArgument("num_upper must be negative or less or equal to number of columns (", cols,
                                   ") got: ", upper);
  ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  DispatchBlob(in.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const T* from = BlobData<T>(in);
    T* to = BlobData<T>(out);
    const double cost = 5.0 + kCopyCost<T> * static_cast<double>(cols);
    ctx.ParallelFor(in.num_elements() / cols, cost, [=](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t row = line % rows;
        const int64_t first = lower < 0 ? 0 : std::clamp<int64_t>(row - lower, 0, cols);
        const int64_t last = upper < 0 ? cols : std::clamp<int64_t>(row + upper + 1, first, cols);
        T* y = to + line * cols;
        if (to != from) CopyRun(from + line * cols + first, last - first, y + first);
        std::fill(y, y + first, T{});
        std::fill(y + last, y + cols, T{});
      }
    });
  });
  return OkStatus();
}

Status BandPartGrad(GradContext& g) {
  g.set_dx(0, g.Op("MatrixBandPart", {g.dy(0), g.input(1), g.input(2)}));
  return OkStatus();
}

OP("MatrixBandPart")
    .Input("input: T")
    .Input("num_lower: Tindex")
    .Input("num_upper: Tindex")
    .Output("band: T")
    .Attr("T: type")
    .Attr("Tindex: {int32, int64} = DT_INT64")
    .Shape(UnchangedShape)
    .Gradient(BandPartGrad)
    .Cpu(BandPartCpu)
    .HostMemory("num_lower")
    .HostMemory("num_upper")
    .Doc("Matrices of which only a band around the diagonal is kept.");

OP("BatchMatrixBandPart")
    .Input("input: T")
    .Input("num_lower: int64")
    .Input("num_upper: int64")
    .Output("band: T")
    .Attr("T: type")
    .Shape(UnknownShape)
    .Cpu(BandPartCpu)
    .HostMemory("num_lower")
    .HostMemory("num_upper")
    .Doc("The old name of MatrixBandPart.");

}  // namespace
}  // namespace millstream
