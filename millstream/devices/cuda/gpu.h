// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_GPU_H_
#define MILLSTREAM_DEVICES_CUDA_GPU_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "millstream/devices/cuda/completions.h"
#include "millstream/devices/cuda/math_libraries.h"
#include "millstream/devices/cuda/memory_pool.h"
#include "millstream/devices/cuda/pinned_memory.h"
#include "millstream/framework/accelerator.h"

namespace millstream::cuda {

// A GPU, or one of several virtual ones on it, as this process uses it: memory, one stream of computing, one of copies
// to the host, handles of libraries. All sessions of the process share it; it lives as long as the process.
// Thread-safe.
class Gpu {
 public:
  // The `part`-th virtual device of GPU `ordinal`. Its memory limit is that of the first call.
  static StatusOr<Gpu*> Get(int ordinal, int part, size_t memory_limit);

  int ordinal() const { return ordinal_; }
  const cudaDeviceProp& properties() const { return properties_; }
  MemoryPool& memory() const { return *memory_; }
  PinnedMemory& pinned() { return pinned_; }
  Completions& completions() { return completions_; }
  MathLibraries& libraries() { return libraries_; }

  // Makes this GPU the one that CUDA calls of this thread are about.
  void Activate() const;
  // Where this thread issues work: the stream of computing, or a recording that this thread makes.
  cudaStream_t stream() const;
  cudaStream_t compute_stream() const { return compute_; }
  cudaStream_t to_host_stream() const { return to_host_; }

  // Device memory in stream order. `holder` is named when memory runs out; it must live forever.
  // ResourceExhausted, naming size, holder and who has the memory, if there is none.
  StatusOr<Tensor> Allocate(DType dtype, const Shape& shape, const char* holder);
  // The same, but never in the memory of a recording.
  StatusOr<Tensor> AllocateOutside(DType dtype, const Shape& shape, const char* holder) {
    return AllocateFrom(memory_, dtype, shape, holder);
  }

  // All that this thread issues from now on goes into the recording, and its memory comes from `memory`.
  // Null, null: ends that. At most one recording for each thread.
  void RedirectThread(cudaStream_t recording, std::shared_ptr<MemoryPool> memory) const;

 private:
  Gpu(int ordinal, const cudaDeviceProp& properties, size_t memory_limit);
  Status Init();
  StatusOr<Tensor> AllocateFrom(const std::shared_ptr<MemoryPool>& memory, DType dtype, const Shape& shape,
                                const char* holder) const;

  const int ordinal_;
  const cudaDeviceProp properties_;
  const std::shared_ptr<MemoryPool> memory_;
  PinnedMemory pinned_;
  Completions completions_;
  MathLibraries libraries_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t to_host_ = nullptr;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_GPU_H_
