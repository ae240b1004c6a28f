// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/fill.h"
#include "millstream/devices/cuda/scatter.cuh"
#include "millstream/devices/cuda/strided_copy.h"
#include "millstream/ops/array/scatter_nd.h"
#include "millstream/ops/elements/axes.h"

namespace millstream::cuda {
namespace {

// Rows that point outside give zeros.
template <typename U>
__global__ void GatherSlices(NdIndex at, const U* params, int64_t inner, int64_t count, U* out) {
  CUDA_FOR_EACH(i, count) {
    const int64_t row = i / inner, slice = at.Slice(row);
    out[i] = slice >= 0 ? params[slice * inner + (i - row * inner)] : U{};
  }
}

// Of several rows for one place, one is kept.
template <typename U>
__global__ void AssignSlices(NdIndex at, const U* updates, int64_t inner, int64_t count, U* to) {
  CUDA_FOR_EACH(i, count) {
    const int64_t row = i / inner, slice = at.Slice(row);
    if (slice >= 0) to[slice * inner + (i - row * inner)] = updates[i];
  }
}

class GatherNd final : public CudaKernel {
 public:
  explicit GatherNd(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor &params = call.input(0), &indices = call.input(1);
    if (params.rank() < 1) return errors::InvalidArgument("params must be at least a vector");
    if (indices.rank() < 1) return errors::InvalidArgument("indices must be at least a vector");
    const int64_t depth = indices.dim(indices.rank() - 1);
    if (depth > params.rank()) {
      return errors::InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                                     params.rank());
    }
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
    dims.insert(dims.end(), params.shape().dims().begin() + depth, params.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (params.num_elements() == 0) {
      return errors::InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ",
                                     params.shape().ToString());
    }
    ASSIGN_OR_RETURN(const NdIndex at, MakeNdIndex(indices, params.shape()));
    const auto bytes = static_cast<int64_t>(DTypeSize(params.dtype())) *
                       params.shape().Product(static_cast<int>(depth), params.rank());
    const int unit = CopyUnit(AddressBits(params.raw()) | AddressBits(out->raw()) | static_cast<uint64_t>(bytes));
    const int64_t count = static_cast<int64_t>(out->ByteSize()) / unit;
    WithUnit(unit, [&](auto type) {
      using U = typename decltype(type)::type;
      GatherSlices<<<BlocksFor(count), kThreads, 0, call.stream()>>>(at, static_cast<const U*>(params.raw()),
                                                                     bytes / unit, count, static_cast<U*>(out->raw()));
    });
    return call.Launched();
  }
};

template <typename T>
class ScatterNd final : public CudaKernel {
 public:
  explicit ScatterNd(KernelInit&) {}

  Status Issue(Call& call) override {
    const Tensor &indices = call.input(0), &updates = call.input(1);
    Dims dims;
    RETURN_IF_ERROR(ReadIntVector(call.input(2), "Shape", &dims));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (shape.num_elements() == 0 && (indices.num_elements() != 0 || updates.num_elements() != 0)) {
      return errors::InvalidArgument("Indices and updates specified for empty output shape");
    }
    RETURN_IF_ERROR(CheckNdUpdate(indices, updates, shape));
    ASSIGN_OR_RETURN(Tensor * out, call.Output(0, shape));
    RETURN_IF_ERROR(FillZero(call, out));
    ASSIGN_OR_RETURN(const NdIndex at, MakeNdIndex(indices, shape));
    const int64_t rows = indices.shape().Product(0, indices.rank() - 1);
    return LaunchScatter<Atomic::kAdd, DeviceType<T>>(call, at, updates, rows, out);
  }
};

// The input itself if nobody else needs it, or a copy: what updates go into.
StatusOr<Tensor*> StartFromInput(Call& call) {
  const Tensor& in = call.input(0);
  const Tensor &indices = call.input(1), &updates = call.input(2);
  if (in.rank() < 1) {
    return errors::InvalidArgument("Output must be at least 1-D, got shape: ", in.shape().ToString());
  }
  if (in.num_elements() == 0 && (indices.num_elements() != 0 || updates.num_elements() != 0)) {
    return errors::InvalidArgument("Indices and updates specified for empty output shape");
  }
  RETURN_IF_ERROR(CheckNdUpdate(indices, updates, in.shape()));
  ASSIGN_OR_RETURN(Tensor * out, call.OutputInPlace({0}, 0, in.shape()));
  if (out->raw() != call.input(0).raw() && out->num_elements() > 0) {
    RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(out->raw(), call.input(0).raw(), out->ByteSize(), cudaMemcpyDeviceToDevice, call.stream()));
  }
  return out;
}

template <typename T, Atomic op>
class TensorScatter final : public CudaKernel {
 public:
  explicit TensorScatter(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(Tensor * out, StartFromInput(call));
    const Tensor& indices = call.input(1);
    ASSIGN_OR_RETURN(const NdIndex at, MakeNdIndex(indices, out->shape()));
    const int64_t rows = indices.shape().Product(0, indices.rank() - 1);
    return LaunchScatter<op, DeviceType<T>>(call, at, call.input(2), rows, out);
  }
};

class TensorScatterUpdate final : public CudaKernel {
 public:
  explicit TensorScatterUpdate(KernelInit&) {}

  Status Issue(Call& call) override {
    ASSIGN_OR_RETURN(Tensor * out, StartFromInput(call));
    const Tensor &indices = call.input(1), &updates = call.input(2);
    const int64_t rows = indices.shape().Product(0, indices.rank() - 1);
    if (updates.num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const NdIndex at, MakeNdIndex(indices, out->shape()));
    const int64_t count = updates.num_elements();
    WithUnit(static_cast<int>(DTypeSize(out->dtype())), [&](auto type) {
      using U = typename decltype(type)::type;
      AssignSlices<<<BlocksFor(count), kThreads, 0, call.stream()>>>(at, static_cast<const U*>(updates.raw()),
                                                                     count / rows, count, static_cast<U*>(out->raw()));
    });
    return call.Launched();
  }
};

template <Atomic op>
struct Scatter {
  template <typename T>
  using Into = TensorScatter<T, op>;
};

CUDA_KERNEL("GatherNd").ClassFor<GatherNd>(PodTypes{}, "Tparams");
CUDA_KERNEL("ScatterNd").HostMemory("shape").For<ScatterNd>(ScatterTypes{});
CUDA_KERNEL("TensorScatterUpdate").ClassFor<TensorScatterUpdate>(PodTypes{});
CUDA_KERNEL("TensorScatterAdd").For<Scatter<Atomic::kAdd>::Into>(ScatterTypes{});
CUDA_KERNEL("TensorScatterSub").For<Scatter<Atomic::kSub>::Into>(ScatterTypes{});
CUDA_KERNEL("TensorScatterMin").For<Scatter<Atomic::kMin>::Into>(ScatterTypes{});
CUDA_KERNEL("TensorScatterMax").For<Scatter<Atomic::kMax>::Into>(ScatterTypes{});
CUDA_KERNEL("ScatterNdNonAliasingAdd").For<Scatter<Atomic::kAdd>::Into>(ScatterTypes{});

}  // namespace
}  // namespace millstream::cuda
