// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_CUDA_DEVICE_H_
#define MILLSTREAM_DEVICES_CUDA_CUDA_DEVICE_H_

#include <memory>

#include "millstream/devices/cuda/gpu.h"

namespace millstream::cuda {

// A GPU as a session or a server sees it. Work goes to the one stream of computing that all sessions of the process
// share; copies to the host have a stream of their own and wait for what was issued before them.
class CudaDevice final : public Accelerator {
 public:
  // `gpu` and `pool` are borrowed.
  CudaDevice(DeviceAttributes attributes, Gpu* gpu, ThreadPool* pool)
      : Accelerator(std::move(attributes)), gpu_(*gpu), pool_(pool) {}

  Gpu& gpu() const { return gpu_; }

  Allocator* allocator() override { return HostAllocator(); }  // for what kernels keep on the host
  ThreadPool* pool() override { return pool_; }
  // For copies from the host; never part of a recording, and neither are the copies.
  StatusOr<Tensor> AllocateTensor(DType dtype, const Shape& shape) override;
  bool Holds(const Tensor& tensor) const override;
  // Returns when `from` has been read; the copy itself may still be on its way.
  void CopyFromHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) override;
  void CopyToHost(const Tensor& from, Tensor* to, std::function<void(Status)> done) override;

  // Recordings are CUDA graphs.
  bool CanRecord() const override { return true; }
  Status CopyOnDevice(const Tensor& from, Tensor* to) override;
  Status ReadBack(const Tensor& from, Tensor* to) override;
  Status StartRecording() override;
  Status StartLane() override;
  Status JoinLanes() override;
  StatusOr<std::unique_ptr<Recording>> FinishRecording() override;

 private:
  Status Upload(const Tensor& from, Tensor* to);
  Status StartDownload(const Tensor& from, cudaStream_t stream, void** staging, cudaEvent_t* copied);

  Gpu& gpu_;
  ThreadPool* const pool_;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_CUDA_DEVICE_H_
