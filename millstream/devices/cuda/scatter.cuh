// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_SCATTER_CUH_
#define MILLSTREAM_DEVICES_CUDA_SCATTER_CUH_

#include "millstream/devices/cuda/atomics.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/locate.cuh"
#include "millstream/devices/cuda/nd_index.cuh"

namespace millstream::cuda {

// Combines row r of `updates` into slice Slice(r) of `to`; rows that point outside are left out.
template <Atomic op, typename D>
__global__ void ScatterRows(NdIndex at, const D* updates, int64_t inner, int64_t count, D* to) {
  CUDA_FOR_EACH(i, count) {
    int64_t row = i;
    const int64_t column = TakeDim(&row, inner), slice = at.Slice(row);
    if (slice >= 0) AtomicCombine<op>(to + slice * inner + column, updates[i]);
  }
}

template <Atomic op, typename D>
Status LaunchScatter(Call& call, const NdIndex& at, const Tensor& updates, int64_t rows, Tensor* to) {
  const int64_t count = updates.num_elements();
  if (count == 0 || to->num_elements() == 0) return OkStatus();
  ScatterRows<op><<<BlocksFor(count), kThreads, 0, call.stream()>>>(at, static_cast<const D*>(updates.raw()),
                                                                    count / rows, count, static_cast<D*>(to->raw()));
  return call.Launched();
}

// The types that a GPU can update atomically.
using ScatterTypes = Types<Half, BFloat16, float, double, int32_t, int64_t>;

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_SCATTER_CUH_
