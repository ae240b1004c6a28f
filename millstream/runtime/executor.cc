// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/executor.h"

#include <algorithm>

#include "millstream/base/flush_denormals.h"
#include "millstream/base/notification.h"
#include "millstream/runtime/invoke.h"
#include "millstream/runtime/recorded_steps.h"
#include "millstream/runtime/run_state.h"

namespace millstream {

namespace internal {

bool MayContinueHere(const Plan& plan) {
  const int64_t limit = ThreadLoan::limit_ns();
  return plan.usual_continuation.IsBelow(plan.control_flow ? std::min(limit, kWakeUpNanos) : limit);
}

Status CheckArgs(const Plan& plan, std::span<const Tensor> args) {
  if (args.size() != plan.arg_slots.size()) {
    return errors::InvalidArgument("Expected ", plan.arg_slots.size(), " arguments, got ", args.size());
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].dtype() != plan.arg_types[i]) {
      return errors::InvalidArgument("Argument ", i, " has type ", DTypeName(args[i].dtype()), ", expected ",
                                     DTypeName(plan.arg_types[i]));
    }
  }
  return OkStatus();
}

void PlaceArgs(const Plan& plan, std::span<const Tensor> args, Entry* slots) {
  for (size_t i = 0; i < args.size(); ++i) {
    const int32_t slot = plan.arg_slots[i];
    if (slot < 0) continue;
    slots[slot].tensor = args[i];
    slots[slot].uses.store(plan.slot_uses[slot], std::memory_order_relaxed);
  }
}

void KeepFetchedValues(const PlanNode& node, Entry* outputs) {
  if (node.num_inputs == 0) return;  // the variable itself: read when the step has ended
  for (int i = 0; i < node.num_outputs; ++i) {
    Entry& e = outputs[i];
    if (e.ref) e.tensor = e.ref->Snapshot();
  }
}

Status TakeResults(const Plan& plan, std::span<const Tensor> args, Entry* slots, std::vector<Tensor>* rets) {
  rets->resize(plan.ret_slots.size());
  const auto slot_of = [&](int32_t slot) { return plan.control_flow ? plan.slot_in_frame[slot] : slot; };
  for (size_t i = 0; i < plan.ret_slots.size(); ++i) {
    const int32_t slot = plan.ret_slots[i];
    if (slot >= Plan::kArgResult) {
      (*rets)[i] = args[slot - Plan::kArgResult];
      continue;
    }
    Entry& e = slot < 0 ? const_cast<Entry&>(plan.constants[-1 - slot]) : slots[slot_of(slot)];
    // With branches, what never ran is on one that was not taken.
    if (e.dead || (plan.control_flow && !e.tensor.IsInitialized() && !e.ref))
      return errors::InvalidArgument("Retval[", i, "] does not have value");
    if (!e.tensor.IsInitialized() && e.ref) e.tensor = e.ref->Snapshot();
    if (!e.tensor.IsInitialized()) {
      if (e.ref) return errors::FailedPrecondition("Attempting to use uninitialized value ", e.ref->name());
      return errors::Internal("Result ", i, " was not computed");
    }
    (*rets)[i] = e.tensor;
  }
  for (const int32_t slot : plan.ret_slots) {
    if (slot >= 0 && slot < Plan::kArgResult) {
      slots[slot_of(slot)].tensor.Reset();
      slots[slot_of(slot)].ref = nullptr;
    }
  }
  return OkStatus();
}

}  // namespace internal

namespace {

// The hot loop of a serial plan: nodes in order, no counting, no queue.
Status RunNodes(const Plan& plan, const StepContext& step, Entry* slots) {
  Entry* inputs[kInlineInputs];
  std::vector<Entry*> many_inputs;
  std::vector<Tensor> derefs;
  const int32_t* input_slots = plan.inputs.data();
  auto* constants = const_cast<Entry*>(plan.constants.data());
  for (const PlanNode& node : plan.nodes) {
    RETURN_IF_ERROR(CheckGoing(step));
    Entry** in = inputs;
    if (node.num_inputs > kInlineInputs) [[unlikely]] {
      many_inputs.resize(node.num_inputs);
      in = many_inputs.data();
    }
    for (int i = 0; i < node.num_inputs; ++i) {
      const int32_t slot = input_slots[node.inputs + i];
      in[i] = slot >= 0 ? slots + slot : constants + (-1 - slot);
    }
    Tensor* values = nullptr;
    if (node.has_ref_inputs) [[unlikely]] {
      derefs.resize(node.num_inputs);
      values = derefs.data();
      if (Status s = ReadReferences(plan, node, in, values); !s.ok()) return AtNode(s, *node.node);
    }
    Entry* outputs = slots + node.outputs;
    for (int i = 0; i < node.num_outputs; ++i) {
      outputs[i].uses.store(plan.slot_uses[node.outputs + i], std::memory_order_relaxed);
    }
    KernelContext ctx({&step, node.device, &node.node->op().def, &node.node->name(), in, values, node.num_inputs,
                       outputs, plan.slot_types.data() + node.outputs, node.num_outputs});
    {
      ScopedNodeTrace trace(step.stats, node);
      if (Status s = ComputeWithinMemory(*node.kernel, ctx); !s.ok()) [[unlikely]]
        return AtNode(s, *node.node);
    }
    if (values != nullptr) derefs.clear();
    const DType* const declared = plan.slot_types.data() + node.outputs;
    bool as_declared = true;
    for (int i = 0; i < node.num_outputs; ++i) {
      const Entry& e = outputs[i];
      as_declared &= e.ref || (e.tensor.IsInitialized() && e.tensor.dtype() == declared[i]);
    }
    if (!as_declared) [[unlikely]]
      RETURN_IF_ERROR(CheckOutputs(plan, node, outputs));
    for (int i = 0; i < node.num_outputs; ++i) {
      Entry& e = outputs[i];
      if (e.uses.load(std::memory_order_relaxed) == 0) {
        e.tensor.Reset();
        e.ref = nullptr;
      }
    }
    if (node.fetched) internal::KeepFetchedValues(node, outputs);
    for (int i = 0; i < node.num_inputs; ++i) {
      if (input_slots[node.inputs + i] >= 0) ReleaseInput(in[i]);
    }
  }
  return OkStatus();
}

Status RunSerial(const Plan& plan, const StepContext& step, std::span<const Tensor> args, std::vector<Tensor>* rets) {
  const FlushDenormals flush;
  RETURN_IF_ERROR(internal::CheckArgs(plan, args));
  std::unique_ptr<RunState> state = plan.TakeState();
  internal::PlaceArgs(plan, args, state->slots.get());
  Status status = RunNodes(plan, step, state->slots.get());
  if (status.ok()) status = internal::TakeResults(plan, args, state->slots.get(), rets);
  if (!status.ok()) {
    if (step.cancellation != nullptr) step.cancellation->StartCancel(status);
    state->Clear();
  }
  plan.ReturnState(std::move(state));
  return status;
}

}  // namespace

void RunPlanAsync(std::shared_ptr<const Plan> plan, const StepContext& step, std::span<const Tensor> args,
                  std::vector<Tensor>* rets, std::function<void(Status)> done) {
  const AllocationsMayFail never(false);  // a kernel may have called
  if (step.stats != nullptr) [[unlikely]]
    step.stats->AddConstants(*plan);
  if (plan->recorded != nullptr) return done(plan->recorded->Run(*plan, step, args, rets));
  if (plan->control_flow) return internal::RunFrames(std::move(plan), step, args, rets, std::move(done));
  if (plan->serial) return done(RunSerial(*plan, step, args, rets));
  internal::RunDynamic(std::move(plan), step, args, rets, std::move(done));
}

Status RunPlan(const std::shared_ptr<const Plan>& plan, const StepContext& step, std::span<const Tensor> args,
               std::vector<Tensor>* rets) {
  const AllocationsMayFail never(false);  // a kernel may have called
  if (plan->serial) {
    if (step.stats != nullptr) [[unlikely]]
      step.stats->AddConstants(*plan);
    return RunSerial(*plan, step, args, rets);
  }
  struct {
    Notification event;
    Status status;
  } finished;
  RunPlanAsync(plan, step, args, rets, [&finished](Status status) {
    finished.status = std::move(status);
    finished.event.Notify();
  });
  if (step.deadline != std::chrono::steady_clock::time_point::max() && !finished.event.WaitUntil(step.deadline)) {
    // Whatever the step waits in is told; then it ends soon.
    step.cancellation->StartCancel(errors::DeadlineExceeded("Timed out waiting for the step to finish"));
  }
  finished.event.Wait();
  // Kernels that were cancelled only know that; the step knows why.
  if (absl::IsCancelled(finished.status) && step.cancellation != nullptr && step.cancellation->IsCancelled()) {
    return step.cancellation->status();
  }
  return finished.status;
}

}  // namespace millstream
