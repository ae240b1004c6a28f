// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/array/blob.h"
#include "millstream/ops/array/strided_slice_copy.h"
#include "millstream/ops/state/variable_input.h"

namespace millstream {
namespace {

// Writes the value into a slice of the variable behind input 0; the rest of it stays.
class StridedSliceAssignKernel : public Kernel {
 public:
  explicit StridedSliceAssignKernel(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(4);
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, value.dtype()));
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return UninitializedVariable(ctx, 0);
      SlicePlan plan;
      RETURN_IF_ERROR(ReadSlice(ctx, 1, variable->tensor().shape().dims(), masks_, &plan));
      ASSIGN_OR_RETURN(const Shape expected, MakeShape(plan.final_dims));
      // A single value may stand for a slice with a single element, whatever its rank.
      const bool single = value.rank() == 0 && expected.num_elements() == 1;
      if (!single && !(value.shape() == expected)) {
        return errors::Unimplemented("L-value of shape ", expected.ToString(), " cannot take a value of shape ",
                                     value.shape().ToString(), "; broadcasting is not supported");
      }
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

OP("StridedSliceAssign")
    .Input("ref: Ref(T)")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .Attr("begin_mask: int = 0")
    .Attr("end_mask: int = 0")
    .Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0")
    .Attr("shrink_axis_mask: int = 0")
    .Shape(UnchangedShape)
    .Cpu<StridedSliceAssignKernel>()
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .Doc("Assigns to a slice of a variable.");

OP("ResourceStridedSliceAssign")
    .Input("ref: resource")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("value: T")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .Attr("begin_mask: int = 0")
    .Attr("end_mask: int = 0")
    .Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0")
    .Attr("shrink_axis_mask: int = 0")
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
