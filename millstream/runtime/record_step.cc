// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "millstream/base/logging.h"
#include "millstream/runtime/recorded_steps.h"

namespace millstream {
namespace {

// The values in a step's slots, to be put back when the step starts again.
class SavedSlots {
 public:
  SavedSlots(Entry* slots, int32_t count) : slots_(slots), count_(count) {
    for (int32_t i = 0; i < count; ++i) {
      const Entry& e = slots[i];
      if (e.tensor.IsInitialized() || e.ref)
        saved_.push_back({i, e.uses.load(std::memory_order_relaxed), e.tensor, e.ref});
    }
  }
  ~SavedSlots() {
    for (int32_t i = 0; i < count_; ++i) {
      slots_[i].tensor.Reset();
      slots_[i].ref = nullptr;
    }
    for (Saved& s : saved_) {
      slots_[s.slot].tensor = std::move(s.tensor);
      slots_[s.slot].ref = std::move(s.ref);
      slots_[s.slot].uses.store(s.uses, std::memory_order_relaxed);
    }
  }

 private:
  struct Saved {
    int32_t slot;
    int32_t uses;
    Tensor tensor;
    Ref<Variable> ref;
  };
  Entry* const slots_;
  const int32_t count_;
  std::vector<Saved> saved_;
};

bool LiesIn(const Tensor& inner, const Tensor& outer) {
  const auto* const begin = static_cast<const char*>(outer.raw());
  const auto* const at = static_cast<const char*>(inner.raw());
  return !std::less<>()(at, begin) && std::less<>()(at, begin + outer.ByteSize());
}

}  // namespace

void RecordedSteps::FindVariables(const Running& run, const std::vector<int32_t>& slots, Instance* instance) {
  std::vector<Ref<Variable>> found;
  for (const int32_t slot : slots) {
    const Entry& e = run.slots[slot];
    if (e.ref) {
      found.push_back(e.ref);
    } else if (e.tensor.dtype() == DType::kResource) {
      auto* const variable = dynamic_cast<Variable*>(e.tensor.scalar<ResourceHandle>().resource.get());
      if (variable != nullptr) found.push_back(Ref<Variable>::Share(variable));
    }
  }
  const auto by_address = [](const Ref<Variable>& a, const Ref<Variable>& b) {
    return std::less<>()(a.get(), b.get());
  };
  std::sort(found.begin(), found.end(), by_address);
  instance->variables.clear();
  for (Ref<Variable>& variable : found) {
    if (!instance->variables.empty() && instance->variables.back().variable.get() == variable.get()) continue;
    instance->variables.push_back({std::move(variable), nullptr, Shape()});
  }
}

bool RecordedSteps::Record(Running* run, Instance* instance) {
  instance->recording = nullptr;
  instance->uploaded.clear();
  instance->kept.clear();
  const SavedSlots saved(run->slots, run->plan.num_slots);
  FindVariables(*run, roles_.host_inputs, instance);
  // While the step is recorded, variables hold views of their own memory: a kernel that gives a variable other memory
  // leaves the old one as it was, and readers keep it.
  std::vector<Tensor> values;
  for (KnownVariable& known : instance->variables) {
    Tensor value = known.variable->Snapshot();
    if (!value.IsInitialized() || !roles_.device->Holds(value)) return false;
    known.address = value.raw();
    known.shape = value.shape();
    values.push_back(std::move(value));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    instance->variables[i].variable->Assign(
        Tensor::Wrap(values[i].dtype(), values[i].shape(), const_cast<void*>(values[i].raw()), [own = values[i]] {}));
  }
  Status status = roles_.device->StartRecording();
  if (status.ok()) {
    status = RecordMiddle(run, instance, &values);
    StatusOr<std::unique_ptr<Recording>> recording = roles_.device->FinishRecording();
    if (status.ok()) status = recording.status();
    if (status.ok()) instance->recording = *std::move(recording);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    KnownVariable& known = instance->variables[i];
    MutexLock lock(known.variable->mu());
    const Tensor& now = known.variable->tensor();
    const bool ours = now.raw() == known.address || (instance->recording != nullptr && instance->recording->Holds(now));
    if (ours || !status.ok()) {
      known.variable->set_tensor(std::move(values[i]));
    } else {
      status = errors::Aborted("variable ", known.variable->name(), " was assigned meanwhile");
    }
  }
  if (status.ok()) return true;
  LogInfo(absl::StrCat("steps are issued kernel by kernel, since recording one failed: ", status.message()));
  instance->recording = nullptr;
  disabled_ = true;
  return false;
}

// Updates of different variables beside each other, everything else in order.
Status RecordedSteps::RunMiddle(Running* run, Instance* instance) {
  const std::vector<int32_t>& middle = roles_.middle;
  size_t at = 0;
  for (const auto& [begin, end] : roles_.parallel) {
    RETURN_IF_ERROR(RunNodes(run, std::span(middle).subspan(at, begin - at), instance));
    std::vector<Tensor> held;  // memory of one lane must not serve another
    for (size_t i = begin; i < end; ++i) {
      const PlanNode& node = run->plan.nodes[middle[i]];
      for (int k = 0; k < node.num_inputs; ++k) held.push_back(run->Input(node, k)->tensor);
      RETURN_IF_ERROR(roles_.device->StartLane());
      RETURN_IF_ERROR(RunNodes(run, std::span(middle).subspan(i, 1), instance));
    }
    RETURN_IF_ERROR(roles_.device->JoinLanes());
    at = end;
  }
  return RunNodes(run, std::span(middle).subspan(at), instance);
}

Status RecordedSteps::RecordMiddle(Running* run, Instance* instance, std::vector<Tensor>* values) {
  RETURN_IF_ERROR(RunMiddle(run, instance));
  RETURN_IF_ERROR(KeepValues(run, instance));
  return CopyBack(*instance, values);
}

// What is read after a launch. Values that lie in a variable's memory are copied out of it, since updates come later.
Status RecordedSteps::KeepValues(Running* run, Instance* instance) const {
  for (const int32_t slot : roles_.kept) {
    const Entry& e = run->slots[slot];
    KeptValue kept{slot, e.tensor, e.ref};
    for (const KnownVariable& known : instance->variables) {
      if (e.ref || !e.tensor.IsInitialized() || !IsPlainBytes(e.tensor.dtype())) break;
      const Tensor memory = Tensor::Wrap(known.variable->dtype(), known.shape, const_cast<void*>(known.address), [] {});
      if (!LiesIn(e.tensor, memory)) continue;
      ASSIGN_OR_RETURN(kept.tensor, roles_.device->AllocateTensor(e.tensor.dtype(), e.tensor.shape()));
      RETURN_IF_ERROR(roles_.device->CopyOnDevice(e.tensor, &kept.tensor));
      break;
    }
    instance->kept.push_back(std::move(kept));
  }
  return OkStatus();
}

// A variable that was given other memory gets its new value in the old place at the end.
Status RecordedSteps::CopyBack(const Instance& instance, std::vector<Tensor>* values) const {
  for (size_t i = 0; i < values->size(); ++i) {
    const Tensor now = instance.variables[i].variable->Snapshot();
    if (now.raw() == instance.variables[i].address) continue;
    for (const Tensor& other : *values) {
      if (LiesIn(now, other)) return errors::Unimplemented("variables exchange their memory");
    }
    if (!(now.shape() == instance.variables[i].shape)) return errors::Unimplemented("a variable changes its shape");
    RETURN_IF_ERROR(roles_.device->CopyOnDevice(now, &(*values)[i]));
  }
  return OkStatus();
}

}  // namespace millstream
