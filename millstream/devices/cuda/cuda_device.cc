// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/cuda_device.h"

#include <cstring>

#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {
namespace {

// A larger copy from the host is cut into pieces of this size, so that reading the source and sending overlap.
constexpr size_t kPiece = size_t{4} << 20;

}  // namespace

StatusOr<Tensor> CudaDevice::AllocateTensor(DType dtype, const Shape& shape) {
  gpu_.Activate();
  return gpu_.AllocateOutside(dtype, shape, "copies from the host");
}

bool CudaDevice::Holds(const Tensor& tensor) const {
  return tensor.IsInitialized() && gpu_.memory().Holds(tensor.raw());
}

void CudaDevice::CopyFromHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) {
  done(Upload(from, to));
}

Status CudaDevice::Upload(const Tensor& from, Tensor* to) {
  gpu_.Activate();
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to->raw());
  for (size_t left = from.ByteSize(); left > 0;) {
    const size_t piece = std::min(left, kPiece);
    ASSIGN_OR_RETURN(void* const staging, gpu_.pinned().Take(piece));
    std::memcpy(staging, source, piece);
    RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(target, staging, piece, cudaMemcpyHostToDevice, gpu_.compute_stream()));
    RETURN_IF_ERROR(gpu_.pinned().GiveBackAfter(gpu_.compute_stream(), staging));
    source += piece;
    target += piece;
    left -= piece;
  }
  return OkStatus();
}

Status CudaDevice::StartDownload(const Tensor& from, cudaStream_t stream, void** staging, cudaEvent_t* copied) {
  const size_t bytes = from.ByteSize();
  ASSIGN_OR_RETURN(*copied, gpu_.pinned().TakeEvent());
  ASSIGN_OR_RETURN(*staging, gpu_.pinned().Take(bytes));
  if (stream != gpu_.stream()) {
    RETURN_IF_CUDA_ERROR(cudaEventRecord(*copied, gpu_.stream()));
    RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream, *copied, 0));
  }
  if (bytes > 0) RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(*staging, from.raw(), bytes, cudaMemcpyDeviceToHost, stream));
  RETURN_IF_CUDA_ERROR(cudaEventRecord(*copied, stream));
  return OkStatus();
}

void CudaDevice::CopyToHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) {
  gpu_.Activate();
  void* staging = nullptr;
  cudaEvent_t copied = nullptr;
  if (Status s = StartDownload(from, gpu_.to_host_stream(), &staging, &copied); !s.ok()) return done(std::move(s));
  // Holding the source keeps its memory from work that is issued meanwhile.
  gpu_.completions().Add(copied, [this, from, to, staging, copied, done = std::move(done)](Status status) {
    if (status.ok()) std::memcpy(to->raw(), staging, to->ByteSize());
    gpu_.pinned().GiveBack(staging);
    gpu_.pinned().GiveBackEvent(copied);
    done(std::move(status));
  });
}

Status CudaDevice::ReadBack(const Tensor& from, Tensor* to) {
  gpu_.Activate();
  void* staging = nullptr;
  cudaEvent_t copied = nullptr;
  RETURN_IF_ERROR(StartDownload(from, gpu_.compute_stream(), &staging, &copied));
  RETURN_IF_CUDA_ERROR(cudaEventSynchronize(copied));
  std::memcpy(to->raw(), staging, to->ByteSize());
  gpu_.pinned().GiveBack(staging);
  gpu_.pinned().GiveBackEvent(copied);
  return OkStatus();
}

Status CudaDevice::CopyOnDevice(const Tensor& from, Tensor* to) {
  gpu_.Activate();
  RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(to->raw(), from.raw(), from.ByteSize(), cudaMemcpyDeviceToDevice, gpu_.stream()));
  return OkStatus();
}

}  // namespace millstream::cuda
