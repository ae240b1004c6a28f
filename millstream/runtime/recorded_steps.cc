// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/recorded_steps.h"

#include <algorithm>
#include <cstdlib>

#include "millstream/base/flush_denormals.h"
#include "millstream/base/logging.h"
#include "millstream/framework/device_op_role.h"
#include "millstream/runtime/executor.h"
#include "millstream/runtime/invoke.h"
#include "millstream/runtime/run_state.h"

namespace millstream {
namespace {

constexpr size_t kMaxInstances = 8;
constexpr size_t kMaxKey = 64 << 10;  // host values beyond this are not worth comparing

void Append(const void* bytes, size_t count, std::string* key) { key->append(static_cast<const char*>(bytes), count); }

// Never one: what is kept is not written into.
constexpr int32_t kKeptUses = 1 << 28;

// Which variable keeps a recording from being launched, for those who ask.
void Explain(const Variable& variable) {
  static const bool wanted = std::getenv("MILLSTREAM_LOG_RECORDING") != nullptr;
  if (wanted)
    LogInfo(absl::StrCat("a recorded step is not launched: something still holds the value of ", variable.name()));
}

void AppendShape(const Tensor& t, std::string* key) {
  const int32_t rank = t.rank();
  Append(&rank, sizeof(rank), key);
  Append(t.shape().dims().data(), t.shape().dims().size_bytes(), key);
}

}  // namespace

Status RecordedSteps::Run(const Plan& plan, const StepContext& step, std::span<const Tensor> args,
                          std::vector<Tensor>* rets) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const FlushDenormals flush;
  RETURN_IF_ERROR(internal::CheckArgs(plan, args));
  std::unique_ptr<RunState> state = plan.TakeState();
  internal::PlaceArgs(plan, args, state->slots.get());
  Running run{plan, step, state->slots.get()};
  Status status = RunFront(&run);
  for (size_t i = 0; status.ok() && i < roles_.downloads.size(); ++i) status = Download(&run, roles_.downloads[i]);
  if (run.held != nullptr) run.held->Unlock();
  if (status.ok()) status = RunNodes(&run, roles_.after, nullptr);
  if (status.ok()) status = internal::TakeResults(plan, args, state->slots.get(), rets);
  if (!status.ok() && step.cancellation != nullptr) step.cancellation->StartCancel(status);
  if (!status.ok() || run.left_values) state->Clear();
  plan.ReturnState(std::move(state));
  return status;
}

Status RecordedSteps::RunFront(Running* run) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  RETURN_IF_ERROR(RunNodes(run, roles_.before, nullptr));
  // Steps that are traced show every node; steps at the same time find the recording's memory in use.
  if (run->step.stats != nullptr || !mu_.TryLock()) return RunNodes(run, roles_.middle, nullptr);
  std::string key = disabled_ ? std::string() : KeyOf(*run);
  if (key.empty()) {
    mu_.Unlock();
    return RunNodes(run, roles_.middle, nullptr);
  }
  Instance* const instance = FindOrAdd(std::move(key));
  StatusOr<Launched> launched = Launched::kMoved;
  if (instance->recording != nullptr) launched = Launch(run, instance);
  if (launched.ok() && *launched == Launched::kMoved && instance->seen && Record(run, instance)) {
    launched = Launch(run, instance);
  }
  if (launched.ok() && *launched == Launched::kYes) {
    run->held = &mu_;
    return OkStatus();
  }
  instance->seen = true;
  mu_.Unlock();
  RETURN_IF_ERROR(launched.status());
  return RunNodes(run, roles_.middle, nullptr);
}

Status RecordedSteps::RunNodes(Running* run, std::span<const int32_t> nodes, Instance* recorded) {
  for (const int32_t index : nodes) {
    RETURN_IF_ERROR(CheckGoing(run->step));
    RETURN_IF_ERROR(RunNode(run, index));
    const PlanNode& node = run->plan.nodes[index];
    if (recorded != nullptr && RoleOnDevice(node.node->op()) == DeviceOpRole::kCopyToDevice) {
      recorded->uploaded.emplace_back(index, run->slots[node.outputs].tensor);
    }
  }
  return OkStatus();
}

Status RecordedSteps::RunNode(Running* run, int32_t index) {
  const Plan& plan = run->plan;
  const PlanNode& node = plan.nodes[index];
  InputPointers pointers(node.num_inputs);
  Entry** const in = pointers.data();
  for (int i = 0; i < node.num_inputs; ++i) in[i] = run->Input(node, i);
  Entry* const outputs = run->slots + node.outputs;
  for (int i = 0; i < node.num_outputs; ++i) {
    outputs[i].uses.store(plan.slot_uses[node.outputs + i], std::memory_order_relaxed);
  }
  Status status = InvokeKernel(plan, node, run->step, in, [&](Tensor* derefs) -> KernelContext::Frame {
    return {&run->step,         node.device, &node.node->op().def,
            &node.node->name(), in,          derefs,
            node.num_inputs,    outputs,     plan.slot_types.data() + node.outputs,
            node.num_outputs};
  });
  if (status.ok()) status = CheckOutputs(plan, node, outputs);
  if (!status.ok()) return AtNode(status, *node.node);
  if (node.fetched) internal::KeepFetchedValues(node, outputs);
  for (int i = 0; i < node.num_outputs; ++i) {
    if (plan.slot_uses[node.outputs + i] > 0) continue;
    outputs[i].tensor.Reset();
    outputs[i].ref = nullptr;
  }
  for (int i = 0; i < node.num_inputs; ++i) {
    if (plan.inputs[node.inputs + i] >= 0) ReleaseInput(in[i]);
  }
  return OkStatus();
}

Status RecordedSteps::Download(Running* run, int32_t index) {
  const PlanNode& node = run->plan.nodes[index];
  Entry* const in = run->Input(node, 0);
  const Tensor from = in->ref ? in->ref->Snapshot() : in->tensor;
  if (!from.IsInitialized()) {
    return AtNode(errors::FailedPrecondition("Attempting to use uninitialized value ",
                                             in->ref ? in->ref->name() : node.node->name()),
                  *node.node);
  }
  Entry& out = run->slots[node.outputs];
  ASSIGN_OR_RETURN(out.tensor, Tensor::Make(from.dtype(), from.shape()));
  out.uses.store(run->plan.slot_uses[node.outputs], std::memory_order_relaxed);
  if (Status s = roles_.device->ReadBack(from, &out.tensor); !s.ok()) return AtNode(s, *node.node);
  if (run->plan.inputs[node.inputs] >= 0) ReleaseInput(in);
  return OkStatus();
}

std::string RecordedSteps::KeyOf(const Running& run) const {
  std::string key(1, 'k');  // never empty
  for (const int32_t i : roles_.uploads) {
    const Entry* const from = run.Input(run.plan.nodes[i], 0);
    if (from->ref) return "";
    AppendShape(from->tensor, &key);
  }
  for (const int32_t slot : roles_.host_inputs) {
    const Entry& e = run.slots[slot];
    const void* resource = e.ref.get();
    if (!e.ref && e.tensor.dtype() == DType::kResource) {
      if (e.tensor.num_elements() != 1) return "";
      resource = e.tensor.scalar<ResourceHandle>().resource.get();
    }
    if (resource != nullptr) {
      Append(&resource, sizeof(resource), &key);
    } else {
      AppendShape(e.tensor, &key);
      if (key.size() + e.tensor.ByteSize() > kMaxKey) return "";
      Append(e.tensor.raw(), e.tensor.ByteSize(), &key);
    }
  }
  return key;
}

RecordedSteps::Instance* RecordedSteps::FindOrAdd(std::string key) {
  const auto known =
      std::find_if(instances_.begin(), instances_.end(), [&](const Instance& i) { return i.key == key; });
  if (known != instances_.end()) {
    if (known != instances_.begin()) instances_.splice(instances_.begin(), instances_, known);
    return &instances_.front();
  }
  if (instances_.size() == kMaxInstances) instances_.pop_back();
  instances_.emplace_front().key = std::move(key);
  return &instances_.front();
}

// Readers that hold a value of a variable keep it from being changed in place; whoever reads later waits for the
// launch.
RecordedSteps::Launched RecordedSteps::LockVariables(const Instance& instance,
                                                     size_t* locked) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const KnownVariable& known : instance.variables) {
    known.variable->mu().Lock();
    ++*locked;
    const Tensor& now = known.variable->tensor();
    if (now.raw() != known.address || !(now.shape() == known.shape)) return Launched::kMoved;
    if (!now.RefIsOne()) {
      Explain(*known.variable);
      return Launched::kInUse;
    }
  }
  return Launched::kYes;
}

StatusOr<RecordedSteps::Launched> RecordedSteps::Launch(Running* run,
                                                        Instance* instance) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  size_t locked = 0;
  const Launched result = LockVariables(*instance, &locked);
  Status status;
  if (result == Launched::kYes) status = UploadAndLaunch(run, instance);
  while (locked > 0) instance->variables[--locked].variable->mu().Unlock();
  RETURN_IF_ERROR(status);
  if (result != Launched::kYes) return result;
  run->left_values = true;
  for (const KeptValue& kept : instance->kept) {
    Entry& e = run->slots[kept.slot];
    e.tensor = kept.tensor;
    e.ref = kept.ref;
    e.uses.store(kKeptUses, std::memory_order_relaxed);
  }
  return Launched::kYes;
}

Status RecordedSteps::UploadAndLaunch(Running* run, Instance* instance) const {
  auto uploaded = instance->uploaded.begin();
  for (const int32_t index : roles_.uploads) {
    while (uploaded->first != index) ++uploaded;  // both in the order of the plan
    const Tensor& from = run->Input(run->plan.nodes[index], 0)->tensor;
    // Holding the source keeps others from writing into it until it has been read; errors are the launch's, too.
    roles_.device->CopyFromHost(from, &uploaded->second, [from](const Status&) {});
  }
  return instance->recording->Launch();
}

}  // namespace millstream
