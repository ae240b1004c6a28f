// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_PINNED_MEMORY_H_
#define MILLSTREAM_DEVICES_CUDA_PINNED_MEMORY_H_

#include <cuda_runtime_api.h>

#include <deque>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/devices/cuda/memory_pool.h"

namespace millstream::cuda {

// Host memory that the device reads and writes by itself, and events; both are kept and used again. Thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t limit);

  StatusOr<void*> Take(size_t bytes);
  void GiveBack(void* block) { pool_.Deallocate(block); }
  // Gives the block back once all work is done that has been issued to `stream` so far.
  Status GiveBackAfter(cudaStream_t stream, void* block);

  // Events without times.
  StatusOr<cudaEvent_t> TakeEvent();
  void GiveBackEvent(cudaEvent_t event);

 private:
  struct InUse {
    cudaEvent_t until;
    void* block;
  };
  void Collect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  MemoryPool pool_;
  Mutex mu_;
  std::deque<InUse> in_use_ ABSL_GUARDED_BY(mu_);
  Mutex events_mu_;
  std::vector<cudaEvent_t> events_ ABSL_GUARDED_BY(events_mu_);
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_PINNED_MEMORY_H_
