// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/fusion/compiler.h"

#include "absl/container/flat_hash_map.h"
#include "millstream/base/logging.h"
#include "millstream/base/mutex.h"
#include "millstream/devices/cuda/cuda_status.h"
#include "millstream/devices/cuda/fusion/nvrtc.h"

namespace millstream::cuda {

StatusOr<cudaKernel_t> FindFusedKernel(const std::string& source, int major, int minor) {
  static Mutex mu;
  static auto* const known = new absl::flat_hash_map<std::string, StatusOr<cudaKernel_t>>();
  const std::string architecture = absl::StrCat("sm_", major, minor);
  const std::string key = absl::StrCat(architecture, "\n", source);
  MutexLock lock(mu);
  if (const auto it = known->find(key); it != known->end()) return it->second;
  const auto load = [&]() -> StatusOr<cudaKernel_t> {
    ASSIGN_OR_RETURN(const std::string code, CompileOrReadCached(source, architecture));
    cudaLibrary_t library = nullptr;
    RETURN_IF_CUDA_ERROR(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    cudaKernel_t kernel = nullptr;
    RETURN_IF_CUDA_ERROR(cudaLibraryGetKernel(&kernel, library, "fused"));
    return kernel;
  };
  StatusOr<cudaKernel_t> kernel = load();
  if (!kernel.ok()) {
    const bool first = known->empty() || kernel.status().code() != absl::StatusCode::kNotFound;
    if (first) LogWarning(absl::StrCat("fused ops run one by one: ", kernel.status().message()));
  }
  known->emplace(key, kernel);
  return kernel;
}

}  // namespace millstream::cuda
