// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_INVOKE_H_
#define MILLSTREAM_RUNTIME_INVOKE_H_

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "millstream/base/memory_budget.h"
#include "millstream/runtime/plan.h"
#include "millstream/runtime/step_stats.h"

namespace millstream {

// Most kernels have few inputs; more than this take a detour over the heap.
inline constexpr int kInlineInputs = 16;

// Reads the references among the inputs that the kernel wants as values, and no others: a snapshot of a variable that
// the kernel is about to change would make it copy. FailedPrecondition if a variable has no value yet.
Status ReadReferences(const Plan& plan, const PlanNode& node, Entry* const* inputs, Tensor* values);

// An error with the node's name in TensorFlow's notation, which clients look for.
Status AtNode(const Status& status, const Node& node);

// Why a step must not start another node: cancelled, or past its deadline. OK if it may.
inline Status CheckGoing(const StepContext& step) {
  if (step.cancellation != nullptr && step.cancellation->IsCancelled()) [[unlikely]]
    return step.cancellation->status();
  if (step.deadline != std::chrono::steady_clock::time_point::max() && std::chrono::steady_clock::now() > step.deadline)
      [[unlikely]] {
    return errors::DeadlineExceeded("Timed out waiting for the step to finish");
  }
  return OkStatus();
}

// Checks that a kernel set the outputs it must set, with tensors of the types that the node declares: those of values
// that a function, a queue or a caller gives are known only now, and whoever reads them relies on it.
Status CheckOutputs(const Plan& plan, const PlanNode& node, const Entry* outputs);

// After a node: hands back its use of each input; the last user drops the value.
inline void ReleaseInput(Entry* e) {
  // A sole consumer needs no atomic decrement.
  if (e->uses.load(std::memory_order_acquire) == 1 || e->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    e->tensor.Reset();
    if (e->ref) [[unlikely]]
      e->ref = nullptr;
  }
}

// Pointers to the inputs of one node: on the stack for most nodes.
class InputPointers {
 public:
  explicit InputPointers(int count) {
    if (count > kInlineInputs) [[unlikely]]
      many_.resize(static_cast<size_t>(count));
  }
  Entry** data() { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<Entry*, kInlineInputs> few_;
  std::vector<Entry*> many_;
};

// Calls a kernel that does not wait. Memory beyond the limit is ResourceExhausted, wherever the kernel takes it.
inline Status ComputeWithinMemory(Kernel& kernel, KernelContext& ctx) {
  return CatchOutOfMemory([&] {
    const AllocationsMayFail may_fail;
    return kernel.Compute(ctx);
  });
}

// Runs a kernel that does not wait: reads the references it wants as values, drops them when it has run.
// `make_frame(derefs)` gives the frame of its context.
template <typename MakeFrame>
Status InvokeKernel(const Plan& plan, const PlanNode& node, const StepContext& step, Entry* const* inputs,
                    MakeFrame make_frame) {
  std::vector<Tensor> derefs;
  if (node.has_ref_inputs) {
    derefs.resize(node.num_inputs);
    RETURN_IF_ERROR(ReadReferences(plan, node, inputs, derefs.data()));
  }
  KernelContext ctx(make_frame(derefs.data()));
  ScopedNodeTrace trace(step.stats, node);
  return ComputeWithinMemory(*node.kernel, ctx);
}

// A kernel that may wait, in flight in an executor's run: keeps alive what its context points to. `id` names the node
// there.
template <typename Run, typename Id>
struct AsyncCall {
  AsyncCall(Run* r, const Id& i, int num_inputs) : run(r), id(i), inputs(static_cast<size_t>(num_inputs)) {}

  // Calls the kernel with `inputs`. True if it has answered already, with `status`: the caller goes on. Otherwise
  // run->ContinueAfter(this) is called when it has, on whatever thread.
  template <typename MakeFrame>
  bool Start(const Plan& plan, const PlanNode& node, const StepContext& step, MakeFrame make_frame) {
    if (node.has_ref_inputs) {
      derefs.resize(node.num_inputs);
      status = ReadReferences(plan, node, inputs.data(), derefs.data());
      if (!status.ok()) return true;
    }
    ctx = std::make_unique<KernelContext>(make_frame(derefs.data()));
    trace.emplace(step.stats, node);
    node.async->ComputeAsync(*ctx, [this](Status answer) {
      status = std::move(answer);
      if (second.exchange(true, std::memory_order_acq_rel)) run->ContinueAfter(this);
    });
    return second.exchange(true, std::memory_order_acq_rel);
  }
  // After the answer: the kernel is done with everything.
  void End() {
    trace.reset();
    ctx.reset();
    derefs.clear();
  }

  Run* const run;
  const Id id;
  std::vector<Entry*> inputs;
  std::vector<Tensor> derefs;
  std::unique_ptr<KernelContext> ctx;
  Status status;
  std::atomic<bool> second{false};  // the kernel has called back, or its call has returned: who comes second goes on
  std::optional<ScopedNodeTrace> trace;  // from the call until it is answered
};

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_INVOKE_H_
