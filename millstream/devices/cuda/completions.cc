// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/cuda/completions.h"

#include <thread>

#include "millstream/devices/cuda/cuda_status.h"

namespace millstream::cuda {

void Completions::Add(cudaEvent_t event, std::function<void(Status)> done) {
  MutexLock lock(mu_);
  waiting_.push_back({event, std::move(done)});
  if (!started_) {
    started_ = true;
    std::thread([this] { Main(); }).detach();
  }
  changed_.NotifyOne();
}

void Completions::Main() {
  cudaSetDevice(ordinal_);
  for (;;) {
    Waiting next;
    {
      MutexLock lock(mu_);
      while (waiting_.empty()) changed_.Wait(mu_);
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next.done(ToStatus(cudaEventSynchronize(next.event), "the work of the GPU"));
  }
}

}  // namespace millstream::cuda
