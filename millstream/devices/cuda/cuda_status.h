// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_CUDA_STATUS_H_
#define MILLSTREAM_DEVICES_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "millstream/base/status.h"

namespace millstream::cuda {

// "cudaMalloc: out of memory (cudaErrorMemoryAllocation)". ResourceExhausted for missing memory, Unavailable for a
// missing driver or device, Internal otherwise. `call` names what failed.
Status CudaError(cudaError_t error, const char* call);

inline Status ToStatus(cudaError_t error, const char* call) {
  if (error == cudaSuccess) [[likely]]
    return OkStatus();
  return CudaError(error, call);
}

}  // namespace millstream::cuda

// RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(...)): leaves the function with a Status that names the call.
#define RETURN_IF_CUDA_ERROR(call)                                                     \
  do {                                                                                 \
    if (const cudaError_t cuda_error = (call); cuda_error != cudaSuccess) [[unlikely]] \
      return ::millstream::cuda::CudaError(cuda_error, #call);                         \
  } while (false)

#endif  // MILLSTREAM_DEVICES_CUDA_CUDA_STATUS_H_
