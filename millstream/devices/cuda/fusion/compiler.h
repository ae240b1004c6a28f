// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_FUSION_COMPILER_H_
#define MILLSTREAM_DEVICES_CUDA_FUSION_COMPILER_H_

#include <cuda_runtime_api.h>

#include <string>

#include "millstream/base/status.h"

namespace millstream::cuda {

// The kernel called `fused` of a source, for GPUs of this compute capability. Each source is compiled and loaded once
// in the process; so are failures, which are logged. Thread-safe.
StatusOr<cudaKernel_t> FindFusedKernel(const std::string& source, int major, int minor);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_FUSION_COMPILER_H_
