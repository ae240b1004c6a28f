// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/array/parts.h"
#include "millstream/ops/array/slices/strided_slice_copy.h"
#include "millstream/ops/array/slices/strided_slice_spec.h"

namespace millstream::cuda {
namespace {

class Slice final : public CudaKernel {
 public:
  explicit Slice(KernelInit&) {}

  Status Issue(Call& call) override {
    Dims begin, size;
    RETURN_IF_ERROR(ReadSliceRange(call.ctx(), &begin, &size));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(size));
    const Tensor& in = call.input(0);
    if (shape == in.shape()) return call.ctx().set_output(0, call.ctx().TakeInput(0)), OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    DeviceStridedCopy copy;
    int64_t offset = 0, from_step = in.num_elements(), to_step = shape.num_elements();
    for (int d = 0; d < in.rank(); ++d) {
      from_step /= in.dim(d);
      to_step /= shape.dim(d);
      offset += begin[d] * from_step;
      copy.Add(shape.dim(d), from_step, to_step);
    }
    return copy.Launch(call, in.dtype(), in.raw(), offset, out->raw(), 0);
  }
};

// Adds the axes of a slice of `whole`; returns at which element of `whole` it begins. REQUIRES: it has elements.
int64_t AddSliceTo(const Shape& whole, const SlicePlan& plan, bool whole_is_target, DeviceStridedCopy* copy) {
  int64_t step = whole.num_elements(), small_step = 1, offset = 0;
  for (const int64_t size : plan.size) small_step *= size;
  for (int d = 0; d < whole.rank(); ++d) {
    step /= whole.dim(d);
    small_step /= plan.size[d];
    offset += plan.begin[d] * step;
    const int64_t stride = plan.size[d] > 1 ? plan.stride[d] * step : step;
    copy->Add(plan.size[d], whole_is_target ? small_step : stride, whole_is_target ? stride : small_step);
  }
  return offset;
}

class StridedSlice final : public CudaKernel {
 public:
  explicit StridedSlice(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    SlicePlan plan;
    RETURN_IF_ERROR(ReadSlice(call.ctx(), 1, in.shape().dims(), masks_, &plan));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(plan.final_dims));
    if (TakesAll(in.shape(), plan)) {
      return call.ctx().set_output(0, call.ctx().TakeInput(0).Reshaped(shape)), OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    DeviceStridedCopy copy;
    const int64_t offset = AddSliceTo(in.shape(), plan, false, &copy);
    return copy.Launch(call, in.dtype(), in.raw(), offset, out->raw(), 0);
  }

 private:
  static bool TakesAll(const Shape& in, const SlicePlan& plan) {
    for (int d = 0; d < in.rank(); ++d) {
      if (plan.size[d] != in.dim(d) || (plan.size[d] > 1 && plan.stride[d] != 1)) return false;
    }
    return true;
  }

  SliceMasks masks_;
};

class StridedSliceGrad final : public CudaKernel {
 public:
  explicit StridedSliceGrad(KernelInit& init) { init.Check(SliceMasks::Read(init.attrs(), &masks_)); }

  Status Issue(Call& call) override {
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(call.input(0), "shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SlicePlan plan;
    RETURN_IF_ERROR(ReadSlice(call.ctx(), 1, shape.dims(), masks_, &plan));
    ASSIGN_OR_RETURN(const Shape expected, MakeShape(plan.final_dims));
    const Tensor& dy = call.input(4);
    if (!(dy.shape() == expected)) {
      return errors::InvalidArgument("shape of dy was ", dy.shape().ToString(), " instead of ", expected.ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (dy.num_elements() != shape.num_elements()) RETURN_IF_ERROR(FillZero(call, out));
    if (dy.num_elements() == 0) return OkStatus();
    DeviceStridedCopy copy;
    const int64_t offset = AddSliceTo(shape, plan, true, &copy);
    return copy.Launch(call, dy.dtype(), dy.raw(), 0, out->raw(), offset);
  }

 private:
  SliceMasks masks_;
};

CUDA_KERNEL("Slice").HostMemory("begin").HostMemory("size").ClassFor<Slice>(PodTypesButInt32{});
CUDA_KERNEL("StridedSlice")
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .ClassFor<StridedSlice>(PodTypesButInt32{});
CUDA_KERNEL("StridedSliceGrad")
    .HostMemory("shape")
    .HostMemory("begin")
    .HostMemory("end")
    .HostMemory("strides")
    .ClassFor<StridedSliceGrad>(PodTypesButInt32{});
CUDA_HOST_KERNEL("Slice").For(Types<int32_t>{});
CUDA_HOST_KERNEL("StridedSlice").For(Types<int32_t>{});
CUDA_HOST_KERNEL("StridedSliceGrad").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
