// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_DEVICES_CUDA_COMPLETIONS_H_
#define MILLSTREAM_DEVICES_CUDA_COMPLETIONS_H_

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"

namespace millstream::cuda {

// Calls back on a thread of its own when events have passed, in the order in which they were added. Thread-safe. Never
// destroyed: its GPU lives as long as the process.
class Completions {
 public:
  explicit Completions(int ordinal) : ordinal_(ordinal) {}

  // `done` gets the error of the device's work, if there was one. The event must stay until then.
  void Add(cudaEvent_t event, std::function<void(Status)> done);

 private:
  struct Waiting {
    cudaEvent_t event;
    std::function<void(Status)> done;
  };
  void Main();

  const int ordinal_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  bool started_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millstream::cuda

#endif  // MILLSTREAM_DEVICES_CUDA_COMPLETIONS_H_
