// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/index_array.cuh"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream::cuda {
namespace {

// params is [batch, outer, limit, inner], indices [batch, n], the result [batch, outer, n, inner].
struct GatherSizes {
  int64_t batch, outer, limit, inner, n;
};

// An index out of range gives zeros: the host cannot see it in time to report it.
template <typename U>
__global__ void GatherRows(GatherSizes s, const U* params, IndexArray indices, U* out, int64_t count) {
  CUDA_FOR_EACH(i, count) {
    int64_t row, column, group, at;
    if (count <= INT32_MAX) {
      row = static_cast<uint32_t>(i) / static_cast<uint32_t>(s.inner);
      group = static_cast<uint32_t>(row) / static_cast<uint32_t>(s.n);
    } else {
      row = i / s.inner;
      group = row / s.n;
    }
    column = i - row * s.inner;
    at = row - group * s.n;
    const int64_t index = indices[(s.outer == 1 ? group : group / s.outer) * s.n + at];
    const bool is_inside = index >= 0 && index < s.limit;
    out[i] = is_inside ? params[(group * s.limit + index) * s.inner + column] : U{};
  }
}

Status LaunchGather(Call& call, GatherSizes s, const Tensor& params, const Tensor& indices, Tensor* out) {
  if (out->num_elements() == 0) return OkStatus();
  const auto size = static_cast<int64_t>(DTypeSize(params.dtype()));
  const int unit =
      CopyUnit(AddressBits(params.raw()) | AddressBits(out->raw()) | static_cast<uint64_t>(s.inner * size));
  s.inner = s.inner * size / unit;
  const int64_t count = static_cast<int64_t>(out->ByteSize()) / unit;
  WithUnit(unit, [&](auto type) {
    using U = typename decltype(type)::type;
    GatherRows<<<BlocksFor(count), kThreads, 0, call.stream()>>>(
        s, static_cast<const U*>(params.raw()), IndexArray(indices), static_cast<U*>(out->raw()), count);
  });
  return call.Launched();
}

Status CheckBatch(const Shape& params, const Shape& indices, int axis, int64_t batch_dims, int* batch) {
  *batch = 0;
  if (batch_dims == 0) return OkStatus();
  if (batch_dims < -indices.rank() || batch_dims > indices.rank()) {
    return errors::InvalidArgument("Expected batch_dims in the range [", -indices.rank(), ", ", indices.rank(),
                                   "], but got ", batch_dims);
  }
  *batch = static_cast<int>(batch_dims < 0 ? batch_dims + indices.rank() : batch_dims);
  if (*batch >= params.rank()) {
    return errors::InvalidArgument("batch_dims (", *batch, ") must be less than rank(params) (", params.rank(), ").");
  }
  if (axis < *batch) {
    return errors::InvalidArgument("batch_dims (", *batch, ") must be less than or equal to axis (", axis, ").");
  }
  for (int d = 0; d < *batch; ++d) {
    if (params.dim(d) != indices.dim(d)) {
      return errors::InvalidArgument("params.shape[", d, "]: ", params.dim(d), " should be equal to indices.shape[", d,
                                     "]: ", indices.dim(d));
    }
  }
  return OkStatus();
}

Status GatherAlong(Call& call, const Tensor& params, const Tensor& indices, int axis, int64_t batch_dims) {
  int batch = 0;
  RETURN_IF_ERROR(CheckBatch(params.shape(), indices.shape(), axis, batch_dims, &batch));
  Dims dims(params.shape().dims().begin(), params.shape().dims().begin() + axis);
  dims.insert(dims.end(), indices.shape().dims().begin() + batch, indices.shape().dims().end());
  dims.insert(dims.end(), params.shape().dims().begin() + axis + 1, params.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
  const GatherSizes sizes = {params.shape().Product(0, batch), params.shape().Product(batch, axis), params.dim(axis),
                             params.shape().Product(axis + 1, params.rank()),
                             indices.shape().Product(batch, indices.rank())};
  return LaunchGather(call, sizes, params, indices, out);
}

class Gather final : public CudaKernel {
 public:
  explicit Gather(KernelInit& init)
      : has_axis_(init.op().inputs.size() > 2), batch_dims_(has_axis_ ? init.Attr<int64_t>("batch_dims") : 0) {}

  Status Issue(Call& call) override {
    const Tensor& params = call.input(0);
    if (params.rank() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    int axis = 0;
    if (has_axis_) RETURN_IF_ERROR(ReadAxis(call.input(2), "axis", params.rank(), &axis));
    return GatherAlong(call, params, call.input(1), axis, batch_dims_);
  }

 private:
  const bool has_axis_;
  const int64_t batch_dims_;
};

class ResourceGather final : public CudaKernel {
 public:
  explicit ResourceGather(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")), batch_dims_(init.Attr<int64_t>("batch_dims")) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(const Ref<Variable> variable, VariableInput(call.ctx(), 0, dtype_));
    MutexLock lock(variable->mu());
    const Tensor& params = variable->tensor();
    if (!params.IsInitialized()) return MissingVariable(call.ctx(), 0);
    if (params.rank() < 1) return errors::InvalidArgument("params must be at least 1 dimensional");
    const int64_t rank = call.input(1).rank();
    const int64_t batch = batch_dims_ < 0 ? batch_dims_ + rank : batch_dims_;
    const int axis = static_cast<int>(std::clamp<int64_t>(batch, 0, params.rank() - 1));
    return GatherAlong(call, params, call.input(1), axis, batch_dims_);
  }

 private:
  const DType dtype_;
  const int64_t batch_dims_;
};

CUDA_KERNEL("Gather").ClassFor<Gather>(PodTypes{}, "Tparams");
CUDA_KERNEL("GatherV2").HostMemory("axis").ClassFor<Gather>(PodTypes{}, "Tparams");
CUDA_KERNEL("ResourceGather").ClassFor<ResourceGather>(PodTypes{}, "dtype");

}  // namespace
}  // namespace millstream::cuda
