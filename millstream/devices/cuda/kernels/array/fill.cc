// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fill.h"

#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/tensor/dispatch.h"

namespace millstream::cuda {
namespace {

class Fill final : public CudaKernel {
 public:
  explicit Fill(KernelInit&) {}

  Status Issue(Call& call) override {
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(call.input(0), "dims", &dims));
    const Tensor& value = call.input(1);
    if (value.num_elements() != 1 || value.rank() > 1) {
      return errors::InvalidArgument("value must be a scalar, got shape ", value.shape().ToString());
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    return FillFromDevice(call, value.raw(), out);
  }
};

class ZerosLike final : public CudaKernel {
 public:
  explicit ZerosLike(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, call.input(0).shape()));
    return FillZero(call, out);
  }
};

class OnesLike final : public CudaKernel {
 public:
  explicit OnesLike(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, call.input(0).shape()));
    Status status;
    DispatchOver(PodTypes{}, out->dtype(), [&](auto tag) {
      const typename decltype(tag)::type one(1);
      status = FillFromHost(call, &one, out);
    });
    return status;
  }
};

// Contents are unspecified unless `init` asks for zeros.
class Empty final : public CudaKernel {
 public:
  explicit Empty(KernelInit& init) : init_(init.Attr<bool>("init")) {}

  Status Issue(Call& call) override {
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(call.input(0), "shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    return init_ ? FillZero(call, out) : OkStatus();
  }

 private:
  const bool init_;
};

CUDA_KERNEL("Fill").HostMemory("dims").ClassFor<Fill>(PodTypesButInt32{});
CUDA_KERNEL("ZerosLike").ClassFor<ZerosLike>(PodTypesButInt32{});
CUDA_KERNEL("OnesLike").ClassFor<OnesLike>(PodTypesButInt32{});
CUDA_KERNEL("Empty").HostMemory("shape").ClassFor<Empty>(PodTypesButInt32{}, "dtype");
CUDA_HOST_KERNEL("Fill").For(Types<int32_t>{});
CUDA_HOST_KERNEL("ZerosLike").For(Types<int32_t>{});
CUDA_HOST_KERNEL("OnesLike").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
