// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/gpu.h"

#include <map>

#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {
namespace {

constexpr size_t kSmallestChunk = size_t{32} << 20;
constexpr size_t kPinnedLimit = size_t{4} << 30;

// The recording that a thread makes.
struct Redirection {
  const Gpu* gpu = nullptr;
  cudaStream_t stream = nullptr;
  std::shared_ptr<MemoryPool> memory;
};
thread_local Redirection redirection;
thread_local int active_ordinal = -1;

MemorySource DeviceMemory(int ordinal) {
  return {[ordinal](size_t bytes) -> void* {
            void* block = nullptr;
            if (cudaSetDevice(ordinal) == cudaSuccess && cudaMalloc(&block, bytes) == cudaSuccess) return block;
            cudaGetLastError();
            return nullptr;
          },
          [](void* block) { cudaFree(block); }};
}

}  // namespace

StatusOr<Gpu*> Gpu::Get(int ordinal, int part, size_t memory_limit) {
  static Mutex mu;
  static auto* const gpus = new std::map<std::pair<int, int>, Gpu*>;
  MutexLock lock(mu);
  Gpu*& gpu = (*gpus)[{ordinal, part}];
  if (gpu != nullptr) return gpu;
  RETURN_IF_CUDA_ERROR(cudaSetDevice(ordinal));
  cudaDeviceProp properties;
  RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, ordinal));
  std::unique_ptr<Gpu> made(new Gpu(ordinal, properties, memory_limit));
  RETURN_IF_ERROR(made->Init());
  gpu = made.release();
  return gpu;
}

Gpu::Gpu(int ordinal, const cudaDeviceProp& properties, size_t memory_limit)
    : ordinal_(ordinal),
      properties_(properties),
      memory_(std::make_shared<MemoryPool>(DeviceMemory(ordinal), memory_limit, kSmallestChunk)),
      pinned_(kPinnedLimit),
      completions_(ordinal) {}

Status Gpu::Init() {
  RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&to_host_, cudaStreamNonBlocking));
  return OkStatus();
}

void Gpu::Activate() const {
  if (active_ordinal == ordinal_) [[likely]]
    return;
  if (cudaSetDevice(ordinal_) == cudaSuccess) active_ordinal = ordinal_;
}

cudaStream_t Gpu::stream() const { return redirection.gpu == this ? redirection.stream : compute_; }

void Gpu::RedirectThread(cudaStream_t recording, std::shared_ptr<MemoryPool> memory) const {
  redirection = {recording == nullptr ? nullptr : this, recording, std::move(memory)};
}

StatusOr<Tensor> Gpu::Allocate(DType dtype, const Shape& shape, const char* holder) {
  return AllocateFrom(redirection.gpu == this ? redirection.memory : memory_, dtype, shape, holder);
}

StatusOr<Tensor> Gpu::AllocateFrom(const std::shared_ptr<MemoryPool>& memory, DType dtype, const Shape& shape,
                                   const char* holder) const {
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype);
  void* const block = memory->Allocate(bytes, holder);
  if (block == nullptr) {
    return errors::ResourceExhausted("OOM when allocating tensor with shape", shape.ToString(), " and type ",
                                     DTypeName(dtype), " for ", holder, " on GPU ", ordinal_, " (", bytes, " bytes; ",
                                     memory_->bytes_in_use(), " of ", memory_->limit(),
                                     " bytes are in use). Most of it is held by: ", memory_->Holders(8));
  }
  return Tensor::Wrap(dtype, shape, block, [memory, block] { memory->Deallocate(block); });
}

}  // namespace millstream::cuda
