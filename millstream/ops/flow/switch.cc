// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/control_flow_gradients.h"

namespace millstream {
namespace {

void PassOn(KernelContext& ctx, int input, int output, bool as_ref) {
  if (as_ref)
    ctx.set_output_ref(output, ctx.input_ref(input));
  else
    ctx.set_output(output, ctx.TakeInput(input));
}

template <bool kRef>
Status SwitchCpu(KernelContext& ctx) {
  const Tensor& pred = ctx.input(1);
  if (pred.rank() != 0) {
    return errors::InvalidArgument("The second input must be a scalar, but it has shape ", pred.shape().ToString());
  }
  const int taken = pred.scalar<bool>() ? 1 : 0;
  PassOn(ctx, 0, taken, kRef);
  ctx.set_output_dead(1 - taken);
  return OkStatus();
}

// An index outside the branches takes the last one.
Status SwitchNCpu(KernelContext& ctx) {
  const Tensor& index = ctx.input(1);
  if (index.rank() != 0) {
    return errors::InvalidArgument("The second input must be a scalar, but it has shape ", index.shape().ToString());
  }
  int taken = index.scalar<int32_t>();
  if (taken < 0 || taken >= ctx.num_outputs()) taken = ctx.num_outputs() - 1;
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (i != taken) ctx.set_output_dead(i);
  }
  ctx.set_output(taken, ctx.TakeInput(0));
  return OkStatus();
}

// Executors choose the live input themselves; this is for those that run single
// kernels.
template <bool kRef>
Status MergeCpu(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.input_is_ref(i) && !ctx.input(i).IsInitialized()) continue;
    PassOn(ctx, i, 0, kRef);
    ctx.set_output(1, Tensor::Scalar<int32_t>(i));
    return OkStatus();
  }
  return errors::Internal("Merge op ran without a live input");
}

Status RefSelectCpu(KernelContext& ctx) {
  const Tensor& index = ctx.input(0);
  if (index.rank() != 0) {
    return errors::InvalidArgument("Index must be a scalar, but it has shape ", index.shape().ToString());
  }
  const int32_t chosen = index.scalar<int32_t>();
  if (chosen < 0 || chosen >= ctx.num_inputs() - 1) {
    return errors::InvalidArgument("Index must be in the range [0, ", ctx.num_inputs() - 1, ") but got ", chosen);
  }
  ctx.set_output_ref(0, ctx.input_ref(chosen + 1));
  return OkStatus();
}

Status SwitchShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(0));
    if (c.input_handle_dtype(0) != DType::kInvalid)
      c.set_output_handle(i, c.input_handle_shape(0), c.input_handle_dtype(0));
  }
  return OkStatus();
}

// What all of the shapes have in common.
PartialShape CommonShape(const ShapeContext& c, int begin, int end) {
  PartialShape common = c.input(begin);
  for (int i = begin + 1; i < end; ++i) {
    const PartialShape& other = c.input(i);
    if (!common.rank_known() || common.rank() != other.rank()) return PartialShape::Unknown();
    for (int d = 0; d < common.rank(); ++d) {
      if (common.dim(d) != other.dim(d)) common.set_dim(d, -1);
    }
  }
  return common;
}

Status MergeShape(ShapeContext& c) {
  c.set_output(0, CommonShape(c, 0, c.num_inputs()));
  c.set_output(1, Shape());
  const DType dtype = c.input_handle_dtype(0);
  if (dtype == DType::kInvalid) return OkStatus();
  bool same = true;
  for (int i = 1; i < c.num_inputs(); ++i) {
    same = same && c.input_handle_dtype(i) == dtype && c.input_handle_shape(i) == c.input_handle_shape(0);
  }
  if (same) c.set_output_handle(0, c.input_handle_shape(0), dtype);
  return OkStatus();
}

Status RefSelectShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &scalar));
  if (c.num_inputs() > 1) c.set_output(0, CommonShape(c, 1, c.num_inputs()));
  return OkStatus();
}

OP("Switch")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kSwitch))
    .Input("data: T")
    .Input("pred: bool")
    .Output("output_false: T")
    .Output("output_true: T")
    .Attr("T: type")
    .Shape(SwitchShape)
    .Gradient(SwitchGrad)
    .Cpu(SwitchCpu<false>)
    .HostMemory("pred")
    .Doc("Passes the data to one of two branches; the other one is dead.");

OP("RefSwitch")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kSwitch))
    .Input("data: Ref(T)")
    .Input("pred: bool")
    .Output("output_false: Ref(T)")
    .Output("output_true: Ref(T)")
    .Attr("T: type")
    .AllowsUninitializedInput()
    .Shape(SwitchShape)
    .Gradient(SwitchGrad)
    .Cpu(SwitchCpu<true>)
    .HostMemory("pred")
    .Doc("Switch for references.");

OP("_SwitchN")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kSwitchN))
    .Input("data: T")
    .Input("output_index: int32")
    .Output("outputs: num_outs * T")
    .Attr("num_outs: int >= 1")
    .Attr("T: type")
    .Shape(SwitchShape)
    .Cpu(SwitchNCpu)
    .HostMemory("output_index")
    .Doc("Passes the data to one of several branches; the others are dead.");

OP("Merge")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kMerge))
    .Input("inputs: N * T")
    .Output("output: T")
    .Output("value_index: int32")
    .Attr("T: type")
    .Attr("N: int >= 1")
    .Shape(MergeShape)
    .Gradient(MergeGrad)
    .Cpu(MergeCpu<false>)
    .HostMemory("value_index")
    .Doc("The first input that is alive, and its index.");

OP("RefMerge")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kMerge))
    .Input("inputs: Ref(N * T)")
    .Output("output: Ref(T)")
    .Output("value_index: int32")
    .Attr("T: type")
    .Attr("N: int >= 1")
    .Shape(MergeShape)
    .Gradient(MergeGrad)
    .Cpu(MergeCpu<true>)
    .HostMemory("value_index")
    .Doc("Merge for references.");

OP("RefSelect")
    .Trait(OpTrait::kAnyDevice)
    .Input("index: int32")
    .Input("inputs: Ref(N * T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Attr("N: int >= 1")
    .Shape(RefSelectShape)
    .Cpu(RefSelectCpu)
    .HostMemory("index")
    .Doc("One of several references.");

}  // namespace
}  // namespace millstream
