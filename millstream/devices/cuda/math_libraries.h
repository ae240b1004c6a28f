// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_MATH_LIBRARIES_H_
#define MILLSTREAM_DEVICES_CUDA_MATH_LIBRARIES_H_

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "absl/functional/function_ref.h"
#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream::cuda {

Status CublasStatus(cublasStatus_t status, const char* call);
Status CudnnStatus(cudnnStatus_t status, const char* call);

// Handles of cuBLAS and cuDNN for one GPU, made when they are first used. A call has its handle for itself, and the
// work goes to the stream that it names. Thread-safe.
class MathLibraries {
 public:
  // The handle's workspace is the same for all calls, which is safe as long as they are issued to one stream, or to
  // recordings that are launched on it.
  Status WithCublas(cudaStream_t stream, absl::FunctionRef<Status(cublasHandle_t)> fn);
  Status WithCublasLt(absl::FunctionRef<Status(cublasLtHandle_t, void* workspace, size_t workspace_bytes)> fn);
  Status WithCudnn(cudaStream_t stream, absl::FunctionRef<Status(cudnnHandle_t)> fn);

  // Whether products of floats may round their factors to 11 bits, as TensorFlow's do; NVIDIA_TF32_OVERRIDE=0 says no.
  static bool AllowsTf32();
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

 private:
  Status MakeWorkspace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  cublasHandle_t cublas_ ABSL_GUARDED_BY(mu_) = nullptr;
  cublasLtHandle_t cublas_lt_ ABSL_GUARDED_BY(mu_) = nullptr;
  cudnnHandle_t cudnn_ ABSL_GUARDED_BY(mu_) = nullptr;
  void* workspace_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace millstream::cuda

#define RETURN_IF_CUBLAS_ERROR(call) RETURN_IF_ERROR(::millstream::cuda::CublasStatus((call), #call))
#define RETURN_IF_CUDNN_ERROR(call) RETURN_IF_ERROR(::millstream::cuda::CudnnStatus((call), #call))

#endif  // MILLSTREAM_DEVICES_CUDA_MATH_LIBRARIES_H_
