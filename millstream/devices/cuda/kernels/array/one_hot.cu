// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/index_array.cuh"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

// The result is [prefix, depth, suffix].
template <typename U>
__global__ void SetOneHot(IndexArray indices, int64_t depth, int64_t suffix, const U* on, const U* off, int64_t count,
                          U* out) {
  CUDA_FOR_EACH(i, count) {
    int64_t rest = i;
    const int64_t s = TakeDim(&rest, suffix), at = TakeDim(&rest, depth);
    out[i] = indices[rest * suffix + s] == at ? *on : *off;
  }
}

class OneHot final : public CudaKernel {
 public:
  explicit OneHot(KernelInit& init) : axis_(init.Attr<int64_t>("axis")) {}

  Status Issue(Call& call) override {
    const Tensor& indices = call.input(0);
    const Tensor& on = call.input(2);
    const Tensor& off = call.input(3);
    if (axis_ < -1 || axis_ > indices.rank()) {
      return errors::InvalidArgument("Expected axis to be -1 or between [0, ", indices.rank(),
                                     "].  But received: ", axis_);
    }
    if (call.input(1).rank() != 0 || on.rank() != 0 || off.rank() != 0) {
      return errors::InvalidArgument("depth, on_value and off_value must be scalars");
    }
    int64_t depth = 0;
    RETURN_IF_ERROR(ReadIntScalar(call.input(1), "depth", &depth));
    if (depth < 0) return errors::InvalidArgument("depth must be non-negative, got: ", depth);
    const int axis = axis_ == -1 ? indices.rank() : static_cast<int>(axis_);
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return OkStatus();
    const int64_t suffix = indices.shape().Product(axis, indices.rank());
    WithUnit(static_cast<int>(DTypeSize(on.dtype())), [&](auto type) {
      using U = typename decltype(type)::type;
      SetOneHot<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
          IndexArray(indices), depth, suffix, static_cast<const U*>(on.raw()), static_cast<const U*>(off.raw()), count,
          static_cast<U*>(out->raw()));
    });
    return call.Launched();
  }

 private:
  const int64_t axis_;
};

CUDA_KERNEL("OneHot").HostMemory("depth").ClassFor<OneHot>(PodTypes{});

}  // namespace
}  // namespace millstream::cuda
