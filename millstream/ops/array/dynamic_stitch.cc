// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

// Inputs are N index tensors, then N data tensors; data[i] is indices[i].shape + slice shape.
Status CheckPair(const KernelContext& ctx, int n, int i) {
  const Shape& indices = ctx.input(i).shape();
  const Shape& data = ctx.input(n + i).shape();
  const Shape& indices0 = ctx.input(0).shape();
  const Shape& data0 = ctx.input(n).shape();
  bool fits = data.rank() >= indices.rank();
  for (int d = 0; fits && d < indices.rank(); ++d) fits = data.dim(d) == indices.dim(d);
  if (!fits) {
    return errors::InvalidArgument("data[", i, "].shape = ", data.ToString(), " does not start with indices[", i,
                                   "].shape = ", indices.ToString());
  }
  fits = data.rank() - indices.rank() == data0.rank() - indices0.rank();
  for (int d = indices.rank(); fits && d < data.rank(); ++d) {
    fits = data.dim(d) == data0.dim(d - indices.rank() + indices0.rank());
  }
  if (!fits) {
    return errors::InvalidArgument("Need data[0].shape[", indices0.rank(), ":] = data[", i, "].shape[", indices.rank(),
                                   ":], got data[0].shape = ", data0.ToString(), ", data[", i,
                                   "].shape = ", data.ToString());
  }
  return OkStatus();
}

// Rows of the result: the largest index and one. Fails on negative indices.
Status CountRows(const KernelContext& ctx, int n, int64_t* rows) {
  *rows = 0;
  for (int i = 0; i < n; ++i) {
    for (const int32_t index : ctx.input(i).flat<int32_t>()) {
      if (index < 0) return errors::InvalidArgument("indices[", i, "] is out of range");
      *rows = std::max<int64_t>(*rows, int64_t{index} + 1);
    }
  }
  return OkStatus();
}

// Later pieces overwrite earlier ones. Rows that nobody names are zero.
Status StitchCpu(KernelContext& ctx) {
  const int n = ctx.num_inputs() / 2;
  const Tensor& data0 = ctx.input(n);
  for (int i = 0; i < n; ++i) RETURN_IF_ERROR(CheckPair(ctx, n, i));
  Dims dims(1);
  RETURN_IF_ERROR(CountRows(ctx, n, &dims[0]));
  const int slice_from = ctx.input(0).rank();
  dims.insert(dims.end(), data0.shape().dims().begin() + slice_from, data0.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  const int64_t inner = shape.Product(1, shape.rank());
  FillZero(ctx, out);
  DispatchBlob(out->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* to = BlobData<T>(out);
    for (int i = 0; i < n; ++i) {
      const T* from = BlobData<T>(ctx.input(n + i));
      for (const int32_t index : ctx.input(i).flat<int32_t>()) {
        CopyRun(from, inner, to + index * inner);
        from += inner;
      }
    }
  });
  return OkStatus();
}

Status StitchShape(ShapeContext& c) {
  const int n = c.num_inputs() / 2;
  int64_t rows = 0;
  bool rows_known = true;
  PartialShape slice;
  for (int i = 0; i < n; ++i) {
    const PartialShape& indices = c.input(i);
    const PartialShape& data = c.input(n + i);
    std::vector<int64_t> values;
    if (c.ConstantInts(i, &values)) {
      for (const int64_t v : values) rows = std::max(rows, v + 1);
    } else {
      rows_known = false;
    }
    if (!indices.rank_known() || !data.rank_known()) continue;
    if (data.rank() < indices.rank()) {
      return errors::InvalidArgument("data[", i, "] has fewer dimensions than indices[", i, "]");
    }
    RETURN_IF_ERROR(data.Slice(0, indices.rank()).MergeWith(indices).status());
    ASSIGN_OR_RETURN(slice, slice.MergeWith(data.Slice(indices.rank(), data.rank())));
  }
  if (slice.rank_known()) c.set_output(0, PartialShape({rows_known ? rows : -1}).Concatenate(slice));
  return OkStatus();
}

Status StitchGrad(GradContext& g) {
  const int n = g.node().num_inputs() / 2;
  const Output dy = g.dy(0);
  for (int i = 0; i < n; ++i) g.set_dx(n + i, g.Op("GatherV2", {dy, g.input(i), g.scope().Const(0)}));
  return OkStatus();
}

OP("DynamicStitch")
    .Input("indices: N * int32")
    .Input("data: N * T")
    .Output("merged: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Shape(StitchShape)
    .Gradient(StitchGrad)
    .Cpu(StitchCpu)
    .HostMemory("indices")
    .Doc("Puts slices of several tensors at the rows that their indices name.");

OP("ParallelDynamicStitch")
    .Input("indices: N * int32")
    .Input("data: N * T")
    .Output("merged: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Shape(StitchShape)
    .Gradient(StitchGrad)
    .Cpu(StitchCpu)
    .HostMemory("indices")
    .Doc("As DynamicStitch, where no row is named twice.");

}  // namespace
}  // namespace millstream
