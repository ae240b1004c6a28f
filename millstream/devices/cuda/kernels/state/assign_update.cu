// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/ops/resources/variable_input.h"

namespace millstream::cuda {
namespace {

struct PlusFn {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct MinusFn {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};

Status OtherShape(const Call& call, const Shape& shape) {
  if (call.ctx().input_is_ref(0)) return errors::InvalidArgument("Parameters and update must be the same size");
  return errors::InvalidArgument("Cannot update variable with shape ", shape.ToString(), " using a Tensor with shape ",
                                 call.input(1).shape().ToString(), ", shapes must be equal.");
}

// var = fn(var, value), for references and handles alike.
template <typename T, typename Fn>
class AssignUpdate final : public CudaKernel {
 public:
  explicit AssignUpdate(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(call.ctx(), 0, kDTypeOf<T>));
    const Tensor& value = call.input(1);
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return MissingVariable(call.ctx(), 0);
      if (!(variable->tensor().shape() == value.shape())) return OtherShape(call, variable->tensor().shape());
      ASSIGN_OR_RETURN(Tensor * var, call.MutableValue(*variable));
      auto* const data = static_cast<DeviceType<T>*>(var->raw());
      LaunchMap(call.stream(), Fn(), value.num_elements(), data, const_cast<const DeviceType<T>*>(data),
                static_cast<const DeviceType<T>*>(value.raw()));
    }
    ForwardRef(call.ctx());
    return call.Launched();
  }
};
template <typename T>
using AssignAdd = AssignUpdate<T, PlusFn>;
template <typename T>
using AssignSub = AssignUpdate<T, MinusFn>;

using UpdateTypes = Join<FloatTypes, IndexTypes>;

CUDA_KERNEL("AssignAdd").For<AssignAdd>(UpdateTypes{});
CUDA_KERNEL("AssignSub").For<AssignSub>(UpdateTypes{});
CUDA_KERNEL("AssignAddVariableOp").For<AssignAdd>(UpdateTypes{}, "dtype");
CUDA_KERNEL("AssignSubVariableOp").For<AssignSub>(UpdateTypes{}, "dtype");

}  // namespace
}  // namespace millstream::cuda
