// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/array/slices/strided_slice_copy.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {
namespace {

// `value` repeated along dimensions to get the shape of the slice, as NumPy does; itself if it has that shape.
StatusOr<Tensor> BroadcastValue(KernelContext& ctx, const Tensor& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  const int extra = shape.rank() - value.rank();
  bool fits = extra >= 0;
  for (int d = 0; fits && d < value.rank(); ++d) fits = value.dim(d) == 1 || value.dim(d) == shape.dim(d + extra);
  if (!fits) {
    return errors::InvalidArgument("Cannot assign a value of shape ", value.shape().ToString(), " to a slice of shape ",
                                   shape.ToString());
  }
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(value.dtype(), shape));
  if (shape.num_elements() == 0) return wide;
  StridedCopy copy;
  int64_t from = value.num_elements(), to = shape.num_elements();
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t size = d < extra ? 1 : value.dim(d - extra);
    from /= size;
    to /= shape.dim(d);
    copy.Add(shape.dim(d), size == 1 ? 0 : from, to);
  }
  copy.Run(ctx, value.dtype(), value.raw(), wide.raw());
  return wide;
}

// Writes the value into a slice of the variable behind input 0; the rest of it stays.
class StridedSliceAssignKernel : public Kernel {
 public:
  explicit StridedSliceAssignKernel(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, ctx.input(4).dtype()));
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return UninitializedVariable(ctx, 0);
      SlicePlan plan;
      RETURN_IF_ERROR(ReadSlice(ctx, 1, variable->tensor().shape().dims(), masks_, &plan));
      ASSIGN_OR_RETURN(const Shape expected, MakeShape(plan.final_dims));
      ASSIGN_OR_RETURN(const Tensor value, BroadcastValue(ctx, ctx.input(4), expected));
      if (value.num_elements() > 0) {
        ASSIGN_OR_RETURN(Tensor * tensor, variable->MutableTensor());
        StridedCopy copy;
        const int64_t offset = AddSliceAxes(tensor->shape(), plan, true, &copy);
        copy.Run(ctx, value.dtype(), value.raw(), ElementAt(tensor, offset));
      }
    }
    ForwardRef(ctx);
    return OkStatus();
  }

 private:
  SliceMasks masks_;
};

// The input with the value in a slice of it.
class TensorStridedSliceUpdateKernel final : public Kernel {
 public:
  explicit TensorStridedSliceUpdateKernel(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Compute(KernelContext& ctx) override {
    SlicePlan plan;
    RETURN_IF_ERROR(ReadSlice(ctx, 1, ctx.input(0).shape().dims(), masks_, &plan));
    ASSIGN_OR_RETURN(const Shape expected, MakeShape(plan.final_dims));
    ASSIGN_OR_RETURN(const Tensor value, BroadcastValue(ctx, ctx.input(4), expected));
    if (value.num_elements() == 0) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    Tensor whole;
    if (ctx.InputIsExclusive(0)) {
      whole = ctx.TakeInput(0);
    } else {
      ASSIGN_OR_RETURN(whole, ctx.input(0).Clone());
    }
    StridedCopy copy;
    const int64_t offset = AddSliceAxes(whole.shape(), plan, true, &copy);
    copy.Run(ctx, value.dtype(), value.raw(), ElementAt(&whole, offset));
    ctx.set_output(0, std::move(whole));
    return OkStatus();
  }

 private:
  SliceMasks masks_;
};

// What arrives in the slice belongs to the value, summed where that was repeated; the rest to the input.
Status TensorStridedSliceUpdateGrad(GradContext& g) {
  const Output begin = g.input(1), end = g.input(2), strides = g.input(3), value = g.input(4);
  const Output slice = SliceRelative(g, "StridedSlice", {g.dy(0), begin, end, strides});
  const Output zeros = g.Op("ZerosLike", {slice});
  g.set_dx(0, SliceRelative(g, "TensorStridedSliceUpdate", {g.dy(0), begin, end, strides, zeros}));
  const Output shape = g.Op("Shape", {value}), slice_shape = g.Op("Shape", {slice});
  Node* axes = g.Add("BroadcastGradientArgs", {slice_shape, shape});
  if (axes == nullptr) return g.status();
  const Output sum = g.Op("Sum", {slice, Output(axes, 1)}, {{"keep_dims", true}});
  g.set_dx(4, g.Op("Reshape", {sum, shape}));
  return g.status();
}

OP("TensorStridedSliceUpdate")
    .Input("input: T")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .With(SliceMaskAttrs)
    .Shape(UnchangedShape)
    .Gradient(TensorStridedSliceUpdateGrad)
    .Cpu<TensorStridedSliceUpdateKernel>()
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .Doc("The input with the value in a slice of it.");

OP("StridedSliceAssign")
    .Updates()
    .Input("ref: Ref(T)")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .With(SliceMaskAttrs)
    .Shape(UnchangedShape)
    .Cpu<StridedSliceAssignKernel>()
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .Doc("Assigns to a slice of a variable.");

OP("ResourceStridedSliceAssign")
    .Updates()
    .Input("ref: resource")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .With(SliceMaskAttrs)
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<StridedSliceAssignKernel>()
    .HostMemory("ref")
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .Doc("Assigns to a slice of a variable.");

}  // namespace
}  // namespace millstream
