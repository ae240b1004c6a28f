// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/pinned_memory.h"

#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {
namespace {

constexpr size_t kMaxInUse = 64;  // copies to the device that may be on their way
constexpr size_t kSmallestChunk = size_t{4} << 20;

void* TakePinned(size_t bytes) {
  void* block = nullptr;
  if (cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess) return block;
  cudaGetLastError();
  return nullptr;
}

}  // namespace

PinnedMemory::PinnedMemory(size_t limit)
    : pool_({TakePinned, [](void* block) { cudaFreeHost(block); }}, limit, kSmallestChunk) {}

StatusOr<void*> PinnedMemory::Take(size_t bytes) {
  {
    MutexLock lock(mu_);
    Collect();
    // Who runs far ahead of the device waits for it, instead of pinning more and more memory.
    while (in_use_.size() >= kMaxInUse) {
      RETURN_IF_CUDA_ERROR(cudaEventSynchronize(in_use_.front().until));
      Collect();
    }
  }
  if (void* const block = pool_.Allocate(bytes, "copies"); block != nullptr) return block;
  return errors::ResourceExhausted("cannot pin ", bytes, " bytes of host memory for copies; ", pool_.bytes_in_use(),
                                   " of ", pool_.limit(), " bytes are in use");
}

Status PinnedMemory::GiveBackAfter(cudaStream_t stream, void* block) {
  ASSIGN_OR_RETURN(const cudaEvent_t event, TakeEvent());
  RETURN_IF_CUDA_ERROR(cudaEventRecord(event, stream));
  MutexLock lock(mu_);
  in_use_.push_back({event, block});
  return OkStatus();
}

void PinnedMemory::Collect() {
  while (!in_use_.empty()) {
    if (cudaEventQuery(in_use_.front().until) != cudaSuccess) break;
    GiveBackEvent(in_use_.front().until);
    pool_.Deallocate(in_use_.front().block);
    in_use_.pop_front();
  }
  cudaGetLastError();  // "not ready" is no error
}

StatusOr<cudaEvent_t> PinnedMemory::TakeEvent() {
  {
    MutexLock lock(events_mu_);
    if (!events_.empty()) {
      const cudaEvent_t event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  cudaEvent_t event = nullptr;
  RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void PinnedMemory::GiveBackEvent(cudaEvent_t event) {
  MutexLock lock(events_mu_);
  events_.push_back(event);
}

}  // namespace millstream::cuda
