// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/math_libraries.h"

#include <cstdlib>

#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {
namespace {

absl::string_view NameOf(const char* call) {
  const absl::string_view text(call);
  return text.substr(0, text.find('('));
}

}  // namespace

Status CublasStatus(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return OkStatus();
  const std::string message = absl::StrCat(NameOf(call), ": ", cublasGetStatusString(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return errors::ResourceExhausted(message);
  return errors::Internal(message);
}

Status CudnnStatus(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) [[likely]]
    return OkStatus();
  return errors::Internal(NameOf(call), ": ", cudnnGetErrorString(status));
}

bool MathLibraries::AllowsTf32() {
  static const bool allows = [] {
    const char* const text = std::getenv("NVIDIA_TF32_OVERRIDE");
    return text == nullptr || text[0] != '0';
  }();
  return allows;
}

Status MathLibraries::MakeWorkspace() {
  if (workspace_ != nullptr) return OkStatus();
  RETURN_IF_CUDA_ERROR(cudaMalloc(&workspace_, kWorkspaceBytes));
  return OkStatus();
}

Status MathLibraries::WithCublas(cudaStream_t stream, absl::FunctionRef<Status(cublasHandle_t)> fn) {
  MutexLock lock(mu_);
  if (cublas_ == nullptr) {
    RETURN_IF_ERROR(MakeWorkspace());
    RETURN_IF_CUBLAS_ERROR(cublasCreate(&cublas_));
    RETURN_IF_CUBLAS_ERROR(cublasSetMathMode(cublas_, AllowsTf32() ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
  }
  RETURN_IF_CUBLAS_ERROR(cublasSetStream(cublas_, stream));
  // Setting a stream takes the workspace back.
  RETURN_IF_CUBLAS_ERROR(cublasSetWorkspace(cublas_, workspace_, kWorkspaceBytes));
  return fn(cublas_);
}

Status MathLibraries::WithCublasLt(
    absl::FunctionRef<Status(cublasLtHandle_t, void* workspace, size_t workspace_bytes)> fn) {
  MutexLock lock(mu_);
  if (cublas_lt_ == nullptr) {
    RETURN_IF_ERROR(MakeWorkspace());
    RETURN_IF_CUBLAS_ERROR(cublasLtCreate(&cublas_lt_));
  }
  return fn(cublas_lt_, workspace_, kWorkspaceBytes);
}

Status MathLibraries::WithCudnn(cudaStream_t stream, absl::FunctionRef<Status(cudnnHandle_t)> fn) {
  MutexLock lock(mu_);
  if (cudnn_ == nullptr) RETURN_IF_CUDNN_ERROR(cudnnCreate(&cudnn_));
  RETURN_IF_CUDNN_ERROR(cudnnSetStream(cudnn_, stream));
  return fn(cudnn_);
}

}  // namespace millstream::cuda
