// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/array/parts.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/side_by_side.h"

namespace millstream {
namespace {

// Cuts `in` along `axis` into pieces of the given sizes. REQUIRES: the sizes add up.
Status SplitInto(KernelContext& ctx, const Tensor& in, int axis, const Dims& sizes) {
  const int64_t rows = in.shape().Product(0, axis), inner = in.shape().Product(axis + 1, in.rank());
  ColumnBlocks blocks;
  bool copy = false;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Tensor view;
    if (axis == 0 && sizes[i] > 0) view = SharedRows(in, begin, begin + sizes[i]);
    begin += sizes[i];
    if (view.IsInitialized()) {
      ctx.set_output(static_cast<int>(i), std::move(view));
      blocks.push_back({nullptr, sizes[i] * inner});
      continue;
    }
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims[axis] = sizes[i];
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(static_cast<int>(i), shape));
    blocks.push_back({out->raw(), sizes[i] * inner});
    copy |= shape.num_elements() > 0;
  }
  if (!copy) return OkStatus();
  if (axis != 0) {
    SplitColumns(ctx, in.dtype(), in.raw(), rows, blocks);
    return OkStatus();
  }
  int64_t at = 0;
  for (const ColumnBlock& block : blocks) {
    if (block.data != nullptr && block.width > 0) {
      SplitColumns(ctx, in.dtype(), ElementAt(in, at), 1, std::span<const ColumnBlock>(&block, 1));
    }
    at += block.width;
  }
  return OkStatus();
}

Status SplitCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(1);
  const int n = ctx.num_outputs();
  int axis = 0;
  RETURN_IF_ERROR(ReadSplitDim(ctx.input(0), in.rank(), &axis));
  if (in.dim(axis) % n != 0) {
    return errors::InvalidArgument(
        "Number of ways to split should evenly divide the split dimension, but got split_dim ", axis,
        " (size = ", in.dim(axis), ") and num_split ", n);
  }
  return SplitInto(ctx, in, axis, Dims(n, in.dim(axis) / n));
}

Status SplitVCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  int axis = 0;
  RETURN_IF_ERROR(ReadSplitDim(ctx.input(2), in.rank(), &axis));
  Dims sizes;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "size_splits", &sizes));
  if (static_cast<int>(sizes.size()) != ctx.num_outputs()) {
    return errors::InvalidArgument("Length of size_splits should be ", ctx.num_outputs(), ", got ", sizes.size());
  }
  RETURN_IF_ERROR(CompleteSizes(in.dim(axis), &sizes));
  return SplitInto(ctx, in, axis, sizes);
}

// All outputs as input `value` with the sizes along the axis of input `axis_input` unknown; *axis = -1 if it is not
// known.
Status SplitOutputs(ShapeContext& c, int value, int axis_input, int* axis) {
  *axis = -1;
  const PartialShape& in = c.input(value);
  if (!in.rank_known()) return OkStatus();
  int64_t attr = 0;
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  if (c.ConstantInt(axis_input, &attr)) {
    RETURN_IF_ERROR(NormalizeAxis(attr, "split_dim", in.rank(), axis));
    out = in;
    out.set_dim(*axis, -1);
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return OkStatus();
}

Status SplitShape(ShapeContext& c) {
  int axis = 0;
  RETURN_IF_ERROR(SplitOutputs(c, 1, 0, &axis));
  if (axis < 0 || c.input(1).dim(axis) < 0) return OkStatus();
  const int64_t size = c.input(1).dim(axis);
  if (size % c.num_outputs() != 0) {
    return errors::InvalidArgument("Dimension size must be evenly divisible by ", c.num_outputs(), " but is ", size);
  }
  PartialShape out = c.output(0);
  out.set_dim(axis, size / c.num_outputs());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return OkStatus();
}

Status SplitVShape(ShapeContext& c) {
  int axis = 0;
  RETURN_IF_ERROR(SplitOutputs(c, 0, 2, &axis));
  const Tensor* constant = c.constant(1);
  Dims sizes;
  if (axis < 0 || constant == nullptr) return OkStatus();
  RETURN_IF_ERROR(ReadIntVector(*constant, "size_splits", &sizes));
  if (static_cast<int>(sizes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("Length of size_splits should be ", c.num_outputs(), ", got ", sizes.size());
  }
  if (c.input(0).dim(axis) >= 0) RETURN_IF_ERROR(CompleteSizes(c.input(0).dim(axis), &sizes));
  for (int i = 0; i < c.num_outputs(); ++i) {
    PartialShape out = c.output(i);
    out.set_dim(axis, std::max<int64_t>(sizes[i], -1));
    c.set_output(i, std::move(out));
  }
  return OkStatus();
}

Status JoinGrads(GradContext& g, int value, Output axis) {
  std::vector<Output> inputs;
  for (int i = 0; i < g.node().num_outputs(); ++i) inputs.push_back(g.dy(i));
  if (inputs.size() == 1) {
    g.set_dx(value, inputs[0]);
    return OkStatus();
  }
  inputs.push_back(axis);
  g.set_dx(value, g.Op("ConcatV2", std::move(inputs)));
  return OkStatus();
}

Status SplitGrad(GradContext& g) { return JoinGrads(g, 1, g.input(0)); }
Status SplitVGrad(GradContext& g) { return JoinGrads(g, 0, g.input(2)); }

OP("Split")
    .Input("split_dim: int32")
    .Input("value: T")
    .Output("output: num_split * T")
    .Attr("num_split: int >= 1")
    .Attr("T: type")
    .Shape(SplitShape)
    .Gradient(SplitGrad)
    .Cpu(SplitCpu)
    .HostMemory("split_dim")
    .Doc("Cuts a tensor into equal parts along one dimension.");

OP("SplitV")
    .Input("value: T")
    .Input("size_splits: Tlen")
    .Input("split_dim: int32")
    .Output("output: num_split * T")
    .Attr("num_split: int >= 1")
    .Attr("T: type")
    .Attr("Tlen: {int8, int32, int64} = DT_INT64")
    .Shape(SplitVShape)
    .Gradient(SplitVGrad)
    .Cpu(SplitVCpu)
    .HostMemory("size_splits")
    .HostMemory("split_dim")
    .Doc("Cuts a tensor into parts of given sizes along one dimension; one size may be -1.");

}  // namespace
}  // namespace millstream
