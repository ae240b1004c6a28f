// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/devices/cuda/copy_types.cuh"
#include "millstream/devices/cuda/elementwise.cuh"
#include "millstream/devices/cuda/fill.h"

namespace millstream::cuda {
namespace {

// *from, or `value` if it is null.
template <typename U>
__global__ void FillAll(const U* from, U value, int64_t groups, int64_t count, U* out) {
  constexpr int n = 16 / sizeof(U);
  if (from != nullptr) value = *from;
  Lanes<U, n> all;
#pragma unroll
  for (int k = 0; k < n; ++k) all.lane[k] = value;
  CUDA_FOR_EACH(g, groups) { reinterpret_cast<Lanes<U, n>*>(out)[g] = all; }
  const int64_t first = groups * n + blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  for (int64_t i = first; i < count; i += static_cast<int64_t>(gridDim.x) * blockDim.x) out[i] = value;
}

Status LaunchFill(Call& call, const void* from, const void* host_value, Tensor* out) {
  const int64_t count = out->num_elements();
  if (count == 0) return OkStatus();
  WithUnit(static_cast<int>(DTypeSize(out->dtype())), [&](auto type) {
    using U = typename decltype(type)::type;
    U value{};
    if (host_value != nullptr) std::memcpy(&value, host_value, sizeof(U));
    auto* const to = static_cast<U*>(out->raw());
    const int64_t groups = IsAligned(to) ? count / static_cast<int64_t>(16 / sizeof(U)) : 0;
    FillAll<<<BlocksFor(groups > 0 ? groups : count), kThreads, 0, call.stream()>>>(static_cast<const U*>(from), value,
                                                                                    groups, count, to);
  });
  return call.Launched();
}

}  // namespace

Status FillFromDevice(Call& call, const void* value, Tensor* out) { return LaunchFill(call, value, nullptr, out); }
Status FillFromHost(Call& call, const void* value, Tensor* out) { return LaunchFill(call, nullptr, value, out); }

Status FillZero(Call& call, Tensor* out) {
  if (out->num_elements() == 0) return OkStatus();
  RETURN_IF_CUDA_ERROR(cudaMemsetAsync(out->raw(), 0, out->ByteSize(), call.stream()));
  return OkStatus();
}

}  // namespace millstream::cuda
