// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_FUSION_NVRTC_H_
#define MILLSTREAM_DEVICES_CUDA_FUSION_NVRTC_H_

#include <string>

#include "millstream/base/status.h"

namespace millstream::cuda {

// NVRTC is loaded when it is first asked for. It needs neither a GPU nor a driver.
bool HasNvrtc();

// Compiles CUDA C++ that needs no headers to machine code ("sm_90") with NVRTC, which is loaded when it is first
// needed. NotFound if there is none. Thread-safe.
StatusOr<std::string> CompileForGpu(const std::string& source, const std::string& architecture);

// The same, but what was compiled before by any process of the user comes from a file, below MILLSTREAM_KERNEL_CACHE or
// ~/.cache/millstream/kernels. Files that cannot be read or written are done without.
StatusOr<std::string> CompileOrReadCached(const std::string& source, const std::string& architecture);

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_FUSION_NVRTC_H_
