// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

// Reads shift and axis (scalars or vectors of equal length): how far each dimension moves, in [0, size).
Status ReadShifts(const Tensor& in, const Tensor& shift, const Tensor& axis, Dims* by) {
  if (in.rank() < 1) return errors::InvalidArgument("input must be 1-D or higher");
  if (shift.rank() > 1) {
    return errors::InvalidArgument("shift must be a scalar or a 1-D vector. Found: ", shift.shape().ToString());
  }
  if (axis.rank() > 1) {
    return errors::InvalidArgument("axis must be a scalar or a 1-D vector. Found: ", axis.shape().ToString());
  }
  if (!(shift.shape() == axis.shape())) {
    return errors::InvalidArgument("shift and axis must have the same size");
  }
  Dims shifts, axes;
  RETURN_IF_ERROR(ReadInts(shift, &shifts));
  RETURN_IF_ERROR(ReadInts(axis, &axes));
  by->assign(in.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -in.rank() || axes[i] >= in.rank()) {
      return errors::InvalidArgument("axis ", axes[i], " is out of range");
    }
    const int d = static_cast<int>(axes[i] < 0 ? axes[i] + in.rank() : axes[i]);
    const int64_t size = std::max<int64_t>(in.dim(d), 1);
    const int64_t sum = (*by)[d] + shifts[i] % size;  // both are small: no overflow
    (*by)[d] = (sum % size + size) % size;
  }
  return OkStatus();
}

// Rows of the last axis that moves are two runs each; the axes before it say where a row goes.
template <typename T>
void RollRows(KernelContext& ctx, const Shape& shape, const Dims& by, const T* from, T* to) {
  int last = shape.rank() - 1;
  while (last > 0 && by[last] == 0) --last;
  const int64_t inner = shape.Product(last + 1, shape.rank()), row = shape.dim(last) * inner;
  const int64_t tail = by[last] * inner, rows = shape.num_elements() / row;
  ctx.ParallelFor(rows, 4.0 + kCopyCost<T> * static_cast<double>(row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, target = 0, stride = 1;
      for (int d = last - 1; d >= 0; --d) {
        target += (rest % shape.dim(d) + by[d]) % shape.dim(d) * stride;
        rest /= shape.dim(d);
        stride *= shape.dim(d);
      }
      CopyRun(from + i * row, row - tail, to + target * row + tail);
      CopyRun(from + (i + 1) * row - tail, tail, to + target * row);
    }
  });
}

Status RollCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  Dims by;
  RETURN_IF_ERROR(ReadShifts(in, ctx.input(1), ctx.input(2), &by));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  if (in.num_elements() == 0) return OkStatus();
  DispatchBlob(in.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    RollRows(ctx, in.shape(), by, BlobData<T>(in), BlobData<T>(out));
  });
  return OkStatus();
}

Status RollShape(ShapeContext& c) {
  PartialShape in, shift, axis;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(1), 1, &shift));
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(2), 1, &axis));
  RETURN_IF_ERROR(shift.MergeWith(axis).status());
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status RollGrad(GradContext& g) {
  g.set_dx(0, g.Op("Roll", {g.dy(0), g.Op("Neg", {g.input(1)}), g.input(2)}));
  return g.status();
}

OP("Roll")
    .Input("input: T")
    .Input("shift: Tshift")
    .Input("axis: Taxis")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tshift: {int32, int64}")
    .Attr("Taxis: {int32, int64}")
    .Shape(RollShape)
    .Gradient(RollGrad)
    .Cpu(RollCpu)
    .HostMemory("shift")
    .HostMemory("axis")
    .Doc("Moves elements along axes; what leaves at one end enters at the other.");

}  // namespace
}  // namespace millstream
