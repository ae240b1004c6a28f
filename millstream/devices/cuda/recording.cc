// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "millstream/devices/cuda/cuda_device.h"
#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {
namespace {

constexpr size_t kSmallestChunk = size_t{4} << 20;

// A CUDA graph, with memory of its own: every launch uses the same addresses.
class GraphRecording final : public Recording {
 public:
  GraphRecording(Gpu* gpu, cudaGraphExec_t exec, std::shared_ptr<MemoryPool> memory)
      : gpu_(*gpu), exec_(exec), memory_(std::move(memory)) {}
  ~GraphRecording() override {
    cudaStreamSynchronize(gpu_.compute_stream());  // a launch may still be running
    cudaGraphExecDestroy(exec_);
  }

  Status Launch() override {
    gpu_.Activate();
    RETURN_IF_CUDA_ERROR(cudaGraphLaunch(exec_, gpu_.compute_stream()));
    return OkStatus();
  }
  bool Holds(const Tensor& tensor) const override { return memory_->Holds(tensor.raw()); }

 private:
  Gpu& gpu_;
  const cudaGraphExec_t exec_;
  const std::shared_ptr<MemoryPool> memory_;
};

// What is recorded right now, on this thread.
struct Ongoing {
  cudaStream_t stream = nullptr;
  std::shared_ptr<MemoryPool> memory;
  std::vector<cudaStream_t> lanes;
  size_t lanes_in_use = 0;
  cudaEvent_t fork = nullptr;  // where the lanes begin
};
thread_local Ongoing ongoing;

std::shared_ptr<MemoryPool> PoolWithin(MemoryPool& outer) {
  return std::make_shared<MemoryPool>(
      MemorySource{[&outer](size_t bytes) { return outer.Allocate(bytes, "recorded steps"); },
                   [&outer](void* block) { outer.Deallocate(block); }},
      outer.limit(), kSmallestChunk);
}

}  // namespace

Status CudaDevice::StartRecording() {
  if (ongoing.stream != nullptr) return errors::FailedPrecondition("this thread is recording a step already");
  gpu_.Activate();
  cudaStream_t stream = nullptr;
  RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  // Relaxed: memory may have to be taken from the driver meanwhile.
  if (const cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); error != cudaSuccess) {
    cudaStreamDestroy(stream);
    return CudaError(error, "cudaStreamBeginCapture");
  }
  ongoing.stream = stream;
  ongoing.memory = PoolWithin(gpu_.memory());
  gpu_.RedirectThread(stream, ongoing.memory);
  return OkStatus();
}

Status CudaDevice::StartLane() {
  if (ongoing.fork == nullptr) {
    RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&ongoing.fork, cudaEventDisableTiming));
  }
  if (ongoing.lanes_in_use == 0) RETURN_IF_CUDA_ERROR(cudaEventRecord(ongoing.fork, ongoing.stream));
  if (ongoing.lanes_in_use == ongoing.lanes.size()) {
    cudaStream_t lane = nullptr;
    RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking));
    ongoing.lanes.push_back(lane);
  }
  const cudaStream_t lane = ongoing.lanes[ongoing.lanes_in_use++];
  RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(lane, ongoing.fork, 0));
  gpu_.RedirectThread(lane, ongoing.memory);
  return OkStatus();
}

Status CudaDevice::JoinLanes() {
  gpu_.RedirectThread(ongoing.stream, ongoing.memory);
  while (ongoing.lanes_in_use > 0) {
    ASSIGN_OR_RETURN(const cudaEvent_t done, gpu_.pinned().TakeEvent());
    const cudaStream_t lane = ongoing.lanes[--ongoing.lanes_in_use];
    RETURN_IF_CUDA_ERROR(cudaEventRecord(done, lane));
    RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(ongoing.stream, done, 0));
    gpu_.pinned().GiveBackEvent(done);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<Recording>> CudaDevice::FinishRecording() {
  const Status joined = JoinLanes();  // an error may have left some
  gpu_.RedirectThread(nullptr, nullptr);
  Ongoing done = std::exchange(ongoing, {});
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(done.stream, &graph);
  cudaStreamDestroy(done.stream);
  for (const cudaStream_t lane : done.lanes) cudaStreamDestroy(lane);
  if (done.fork != nullptr) cudaEventDestroy(done.fork);
  RETURN_IF_ERROR(ToStatus(ended, "cudaStreamEndCapture"));
  RETURN_IF_ERROR(joined);
  cudaGraphExec_t exec = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  RETURN_IF_ERROR(ToStatus(made, "cudaGraphInstantiate"));
  return std::unique_ptr<Recording>(std::make_unique<GraphRecording>(&gpu_, exec, std::move(done.memory)));
}

}  // namespace millstream::cuda
