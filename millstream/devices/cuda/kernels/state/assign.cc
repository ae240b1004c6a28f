// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/cuda_kernel.h"
#include "millstream/ops/state/assigned_variable.h"

namespace millstream::cuda {
namespace {

// Makes the value the variable's own: taken over where nobody else holds it, copied into the old memory where that is
// free and fits, copied into new memory otherwise.
Status Store(Call& call, int input, Variable& variable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(variable.mu()) {
  KernelContext& ctx = call.ctx();
  if (ctx.InputIsExclusive(input)) {
    variable.set_tensor(ctx.TakeInput(input));
    return OkStatus();
  }
  const Tensor& value = ctx.input(input);
  const Tensor& old = variable.tensor();
  if (!old.RefIsOne() || old.dtype() != value.dtype() || !(old.shape() == value.shape())) {
    ASSIGN_OR_RETURN(Tensor fresh, call.Temp(value.dtype(), value.shape()));
    variable.set_tensor(std::move(fresh));
  }
  RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(const_cast<void*>(variable.tensor().raw()), value.raw(), value.ByteSize(),
                                       cudaMemcpyDeviceToDevice, call.stream()));
  return OkStatus();
}

class Assign final : public CudaKernel {
 public:
  explicit Assign(KernelInit& init) : validate_shape_(init.Attr<bool>("validate_shape")) {}

  Status Issue(Call& call) override {
    Variable& variable = call.ctx().ref_input(0);
    {
      MutexLock lock(variable.mu());
      if (validate_shape_) RETURN_IF_ERROR(CheckAssignedShape(variable, call.input(1).shape()));
      RETURN_IF_ERROR(Store(call, 1, variable));
    }
    ForwardRef(call.ctx());
    return OkStatus();
  }

 private:
  const bool validate_shape_;
};

class AssignVariable final : public CudaKernel {
 public:
  explicit AssignVariable(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")), validate_shape_(init.Attr<bool>("validate_shape")) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, FindOrCreateVariable(call.ctx(), dtype_));
    MutexLock lock(variable->mu());
    RETURN_IF_ERROR(CheckAssigned(*variable, dtype_, call.input(1).shape(), validate_shape_));
    return Store(call, 1, *variable);
  }

 private:
  const DType dtype_;
  const bool validate_shape_;
};

CUDA_KERNEL("Assign").ClassFor<Assign>(PodTypes{});
CUDA_KERNEL("AssignVariableOp").ClassFor<AssignVariable>(PodTypes{}, "dtype");

}  // namespace
}  // namespace millstream::cuda
