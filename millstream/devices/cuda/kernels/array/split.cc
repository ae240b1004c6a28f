// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/borrowed_kernel.h"
#include "millstream/devices/cuda/column_blocks.h"
#include "millstream/devices/cuda/device_types.h"
#include "millstream/ops/array/parts.h"

namespace millstream::cuda {
namespace {

Status SplitInto(Call& call, const Tensor& in, int axis, const Dims& sizes) {
  const int64_t rows = in.shape().Product(0, axis), inner = in.shape().Product(axis + 1, in.rank());
  std::vector<DeviceColumns> blocks;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims[axis] = sizes[i];
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(static_cast<int>(i), shape));
    blocks.push_back({out->raw(), sizes[i] * inner});
  }
  return SplitColumns(call, in.dtype(), blocks, rows, in.raw());
}

class Split final : public CudaKernel {
 public:
  explicit Split(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(1);
    const int n = call.ctx().num_outputs();
    int axis = 0;
    RETURN_IF_ERROR(ReadSplitDim(call.input(0), in.rank(), &axis));
    if (in.dim(axis) % n != 0) {
      return errors::InvalidArgument(
          "Number of ways to split should evenly divide the split dimension, but got split_dim ", axis,
          " (size = ", in.dim(axis), ") and num_split ", n);
    }
    if (n == 1) return call.ctx().set_output(0, call.ctx().TakeInput(1)), OkStatus();
    return SplitInto(call, in, axis, Dims(n, in.dim(axis) / n));
  }
};

class SplitV final : public CudaKernel {
 public:
  explicit SplitV(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    int axis = 0;
    RETURN_IF_ERROR(ReadSplitDim(call.input(2), in.rank(), &axis));
    Dims sizes;
    RETURN_IF_ERROR(ReadIntVector(call.input(1), "size_splits", &sizes));
    const int n = call.ctx().num_outputs();
    if (static_cast<int>(sizes.size()) != n) {
      return errors::InvalidArgument("Length of size_splits should be ", n, ", got ", sizes.size());
    }
    RETURN_IF_ERROR(CompleteSizes(in.dim(axis), &sizes));
    return SplitInto(call, in, axis, sizes);
  }
};

class Pack final : public CudaKernel {
 public:
  explicit Pack(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Issue(Call& call) override {
    const Shape first = call.input(0).shape();
    const int n = call.ctx().num_inputs();
    int axis = 0;
    RETURN_IF_ERROR(NormalizeAxis(axis_, "axis", first.rank() + 1, &axis));
    std::vector<DeviceColumns> blocks;
    for (int i = 0; i < n; ++i) {
      const Tensor& in = call.input(i);
      if (!(in.shape() == first)) {
        return errors::InvalidArgument("Shapes of all inputs must match: values[0].shape = ", first.ToString(),
                                       " != values[", i, "].shape = ", in.shape().ToString());
      }
      blocks.push_back({const_cast<void*>(in.raw()), first.Product(axis, first.rank())});
    }
    Dims dims(first.dims().begin(), first.dims().end());
    dims.insert(dims.begin() + axis, n);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (n == 1) return call.ctx().set_output(0, call.ctx().TakeInput(0).Reshaped(shape)), OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    return JoinColumns(call, out->dtype(), blocks, first.Product(0, axis), out->raw());
  }

 private:
  const int64_t axis_;
};

class Unpack final : public CudaKernel {
 public:
  explicit Unpack(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Issue(Call& call) override {
    const Tensor& in = call.input(0);
    const int n = call.ctx().num_outputs();
    int axis = 0;
    RETURN_IF_ERROR(NormalizeAxis(axis_, "axis", in.rank(), &axis));
    if (in.dim(axis) != n) {
      return errors::InvalidArgument("Input shape axis ", axis, " must equal ", n, ", got shape ",
                                     in.shape().ToString());
    }
    Shape shape = in.shape();
    shape.RemoveDim(axis);
    std::vector<DeviceColumns> blocks;
    for (int i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(Tensor * out, call.Output(i, shape));
      blocks.push_back({out->raw(), in.shape().Product(axis + 1, in.rank())});
    }
    return SplitColumns(call, in.dtype(), blocks, in.shape().Product(0, axis), in.raw());
  }

 private:
  const int64_t axis_;
};

CUDA_KERNEL("Split").HostMemory("split_dim").ClassFor<Split>(PodTypes{});
CUDA_KERNEL("SplitV").HostMemory("size_splits").HostMemory("split_dim").ClassFor<SplitV>(PodTypes{});
CUDA_KERNEL("Pack").ClassFor<Pack>(PodTypesButInt32{});
CUDA_KERNEL("Unpack").ClassFor<Unpack>(PodTypesButInt32{});
CUDA_HOST_KERNEL("Pack").For(Types<int32_t>{});
CUDA_HOST_KERNEL("Unpack").For(Types<int32_t>{});

}  // namespace
}  // namespace millstream::cuda
