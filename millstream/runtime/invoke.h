// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_INVOKE_H_
#define MILLSTREAM_RUNTIME_INVOKE_H_

#include "millstream/runtime/plan.h"

namespace millstream {

// Most kernels have few inputs; more than this take a detour over the heap.
inline constexpr int kInlineInputs = 16;

// Reads the references among the inputs that the kernel wants as values, and no others: a snapshot of a variable that the
// kernel is about to change would make it copy. FailedPrecondition if a variable has no value yet.
Status ReadReferences(const Plan& plan, const PlanNode& node, Entry* const* inputs, Tensor* values);

// An error with the node's name in TensorFlow's notation, which clients look for.
Status AtNode(const Status& status, const Node& node);

// Why a step must not start another node: cancelled, or past its deadline. OK if it may.
inline Status CheckGoing(const StepContext& step) {
  if (step.cancellation != nullptr && step.cancellation->IsCancelled()) [[unlikely]] return step.cancellation->status();
  if (step.deadline != std::chrono::steady_clock::time_point::max() && std::chrono::steady_clock::now() > step.deadline)
      [[unlikely]] {
    return errors::DeadlineExceeded("Timed out waiting for the step to finish");
  }
  return OkStatus();
}

// Checks that a kernel set the outputs it must set.
Status CheckOutputs(const PlanNode& node, const Entry* outputs);

// After a node: hands back its use of each input; the last user drops the value.
inline void ReleaseInput(Entry* e) {
  // A sole consumer needs no atomic decrement.
  if (e->uses.load(std::memory_order_relaxed) == 1 || e->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    e->tensor.Reset();
    if (e->ref) [[unlikely]] e->ref = nullptr;
  }
}

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_INVOKE_H_
