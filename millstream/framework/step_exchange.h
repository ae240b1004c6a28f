// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_STEP_EXCHANGE_H_
#define MILLSTREAM_FRAMEWORK_STEP_EXCHANGE_H_

#include <cstdint>
#include <functional>

#include "millstream/base/status.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// Where one task's part of a step meets the parts of other tasks. Every edge that was cut has a number, the same on
// both sides; `tag` distinguishes iterations of loops (0 outside). What is sent over an edge with one tag is received
// once. Implemented by the cluster; the kernels of _Send and _Recv find it in their StepContext. Thread-safe.
class StepExchange {
 public:
  using Sent = std::function<void(Status)>;
  using Received = std::function<void(Status, Tensor value, bool dead)>;

  virtual ~StepExchange() = default;

  // Hands over a value, or the news that it is on a branch not taken. Never blocks; the value is shared, not copied.
  virtual Status Send(uint32_t edge, uint64_t tag, Tensor value, bool dead) = 0;
  // The same for edges inside loops: `sent` is called when the receiver has taken the value, so that the producer
  // cannot run ahead by more than the loop's parallel iterations.
  virtual void SendInLoop(uint32_t edge, uint64_t tag, Tensor value, bool dead, Sent sent) = 0;
  // Calls `received` once: now, when the value comes, or with an error when the step ends without it.
  virtual void Receive(uint32_t edge, uint64_t tag, Received received) = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_STEP_EXCHANGE_H_
