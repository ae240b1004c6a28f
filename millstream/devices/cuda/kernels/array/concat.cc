// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/column_blocks.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/ops/array/parts.h"

namespace millstream::cuda {
namespace {

class Concat final : public CudaKernel {
 public:
  explicit Concat(KernelInit& init) {
    int end = 0;
    init.InputRange("values", &first_, &end);
    n_ = end - first_;
    axis_input_ = first_ == 0 ? n_ : 0;
  }

  Status Issue(Call& call) override {
    const Shape& shape0 = call.input(first_).shape();
    int axis = 0;
    RETURN_IF_ERROR(ReadConcatAxis(call.input(axis_input_), shape0.rank(), &axis));
    std::vector<DeviceColumns> blocks;
    Dims dims(shape0.dims().begin(), shape0.dims().end());
    dims[axis] = 0;
    for (int i = 0; i < n_; ++i) {
      const Tensor& in = call.input(first_ + i);
      RETURN_IF_ERROR(CheckConcatShape(shape0, in.shape(), axis, i));
      dims[axis] += in.dim(axis);
      blocks.push_back({const_cast<void*>(in.raw()), in.shape().Product(axis, in.rank())});
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    return JoinColumns(call, out->dtype(), blocks, shape.Product(0, axis), out->raw());
  }

 private:
  int first_ = 0, n_ = 0, axis_input_ = 0;
};

CUDA_KERNEL("Concat").HostMemory("concat_dim").ClassFor<Concat>(PodTypesButInt32{});
CUDA_KERNEL("ConcatV2").HostMemory("axis").ClassFor<Concat>(PodTypesButInt32{});
CUDA_HOST_KERNEL("Concat").For(Types<int32_t>{});
CUDA_HOST_KERNEL("ConcatV2").For(Types<int32_t>{});
CUDA_HOST_KERNEL("ConcatOffset").ForAll();

}  // namespace
}  // namespace millstream::cuda
