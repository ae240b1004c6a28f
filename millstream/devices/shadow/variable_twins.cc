// SPDX-License-Identifier: Apache-2.0
#include "millstream/devices/shadow/variable_twins.h"

namespace millstream::shadow {

VariableTwins::~VariableTwins() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (auto& [variable, pair] : pairs_) variable->mu().Unlock();
}

StatusOr<Ref<Variable>> VariableTwins::Of(const Ref<Variable>& variable) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  auto [it, is_new] = pairs_.try_emplace(variable.get());
  if (!is_new) return it->second.twin;
  variable->mu().Lock();
  it->second = {variable, MakeRef<Variable>(variable->dtype(), variable->declared_shape(), variable->name())};
  const Tensor& value = variable->tensor();
  if (!value.IsInitialized()) return it->second.twin;
  if (!device_->Holds(value)) {  // strings: on the host
    it->second.twin->Assign(value);
    return it->second.twin;
  }
  Tensor seen = device_->Visible(value);
  if (!value.RefIsOne()) {  // somebody has read it, and will use what was read
    ASSIGN_OR_RETURN(seen, seen.Clone());
  }
  it->second.twin->Assign(std::move(seen));
  return it->second.twin;
}

Ref<Variable> VariableTwins::OriginalOf(const Ref<Variable>& twin) const {
  for (const auto& [variable, pair] : pairs_) {
    if (pair.twin.get() == twin.get()) return pair.original;
  }
  return nullptr;
}

Status VariableTwins::Commit() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (auto& [variable, pair] : pairs_) {
    const Tensor value = pair.twin->Snapshot();
    if (!value.IsInitialized()) continue;
    if (!IsPlainBytes(value.dtype())) {
      variable->set_tensor(value);
      continue;
    }
    const Tensor& now = variable->tensor();
    if (now.IsInitialized() && device_->Holds(now) && device_->Visible(now).raw() == value.raw() &&
        now.shape() == value.shape()) {
      continue;  // written in place
    }
    ASSIGN_OR_RETURN(Tensor own, device_->NewTensor(value));
    variable->set_tensor(std::move(own));
  }
  return OkStatus();
}

}  // namespace millstream::shadow
