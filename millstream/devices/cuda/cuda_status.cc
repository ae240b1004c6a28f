// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {

Status CudaError(cudaError_t error, const char* call) {
  cudaGetLastError();  // an error that is not sticky is reported once
  const absl::string_view text(call);
  const std::string message =
      absl::StrCat(text.substr(0, text.find('(')), ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
  switch (error) {
    case cudaErrorMemoryAllocation:
      return errors::ResourceExhausted(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorStubLibrary:
      return errors::Unavailable(message);
    default:
      return errors::Internal(message);
  }
}

}  // namespace millstream::cuda
