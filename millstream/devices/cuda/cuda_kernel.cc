// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/cuda_kernel.h"

#include <cstdlib>

#include "millstream/base/logging.h"

namespace millstream::cuda {
namespace {

// A mistake in our source.
[[noreturn]] void Refuse(const std::string& why) {
  LogError(why);
  std::abort();
}

}  // namespace

StatusOr<Tensor*> Call::Output(int i, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor made, gpu_.Allocate(ctx_.output_dtype(i), shape, ctx_.op().name.c_str()));
  ctx_.set_output(i, std::move(made));
  return ctx_.output(i);
}

StatusOr<Tensor*> Call::OutputInPlace(std::initializer_list<int> candidates, int i, const Shape& shape) {
  for (const int c : candidates) {
    const Tensor& in = ctx_.input(c);
    if (in.dtype() != ctx_.output_dtype(i) || in.num_elements() != shape.num_elements() || !ctx_.InputIsExclusive(c)) {
      continue;
    }
    ctx_.set_output(i, in.shape() == shape ? in : in.Reshaped(shape));
    return ctx_.output(i);
  }
  return Output(i, shape);
}

StatusOr<Tensor> Call::Temp(DType dtype, const Shape& shape) {
  return gpu_.Allocate(dtype, shape, ctx_.op().name.c_str());
}

StatusOr<Tensor> Call::TempBytes(size_t bytes) { return Temp(DType::kUint8, Shape({static_cast<int64_t>(bytes)})); }

StatusOr<Tensor*> Call::MutableValue(Variable& variable) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const Tensor& now = variable.tensor();
  if (!now.IsInitialized()) {
    return errors::FailedPrecondition("Attempting to use uninitialized value ", variable.name());
  }
  if (!now.RefIsOne()) {
    ASSIGN_OR_RETURN(Tensor own, Temp(now.dtype(), now.shape()));
    RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(own.raw(), now.raw(), now.ByteSize(), cudaMemcpyDeviceToDevice, stream()));
    variable.set_tensor(std::move(own));
  }
  return const_cast<Tensor*>(&variable.tensor());
}

Status Call::Launched() const {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) [[likely]]
    return OkStatus();
  return CudaError(error, ctx_.op().name.c_str());
}

KernelBuilder& KernelBuilder::Add(Constraints constraints, KernelFactory factory) {
  if (OpRegistry::Global().Find(op_) == nullptr) Refuse(absl::StrCat("a CUDA kernel for an unknown op: ", op_));
  OpEntry& op = OpRegistry::Global().Add(op_);
  KernelDef kernel;
  kernel.device_type = "GPU";
  kernel.constraints = std::move(constraints);
  kernel.host_memory = host_memory_;
  kernel.factory = std::move(factory);
  const Status added = AddDeviceKernel(&op, std::move(kernel));
  if (!added.ok()) Refuse(std::string(added.message()));
  return *this;
}

}  // namespace millstream::cuda
