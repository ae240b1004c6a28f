// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/optimizers/kernel_optimizer.h"

namespace millstream {

KernelOptimizer::KernelOptimizer(std::string name, bool use_locking, Kernel kernel)
    : Optimizer(std::move(name), use_locking), kernel_(std::move(kernel)) {
  if (kernel_.slot_inputs.empty()) {
    for (size_t i = 0; i < kernel_.slots.size(); ++i) kernel_.slot_inputs.push_back(i);
  }
  if (kernel_.number_inputs.empty()) {
    for (size_t i = 0; i < kernel_.numbers.size(); ++i) kernel_.number_inputs.push_back(i);
  }
}

void KernelOptimizer::CreateSlots(const Scope& scope, const std::vector<GraphVariable>& variables) {
  if (!refused_.ok()) scope.Fail(refused_);
  for (const GraphVariable& v : variables) {
    for (const SlotSpec& slot : kernel_.slots) {
      MakeSlot(scope, v, slot.name, slot.op_name.empty() ? name() : slot.op_name, slot.initializer);
    }
  }
}

void KernelOptimizer::Prepare(const Scope& scope) {
  tensors_.clear();
  for (const auto& [name, number] : kernel_.numbers) tensors_.push_back(number.ToOutput(scope, name));
}

Node* KernelOptimizer::Run(const Scope& scope, const GraphVariable& v, const std::vector<Output>& gradient) {
  std::vector<Output> inputs = {v.handle};
  for (size_t i : kernel_.slot_inputs) inputs.push_back(Slot(v, kernel_.slots[i].name).handle);
  const size_t count = kernel_.number_inputs.size();
  for (size_t i = 0; i < count; ++i) {
    if (i == kernel_.numbers_before_gradient) inputs.insert(inputs.end(), gradient.begin(), gradient.end());
    inputs.push_back(Number(scope, kernel_.number_inputs[i], v));
  }
  if (kernel_.numbers_before_gradient == count) inputs.insert(inputs.end(), gradient.begin(), gradient.end());
  AddLastInputs(scope, &inputs);
  auto attrs = kernel_.attrs;
  attrs.emplace_back("use_locking", use_locking());
  return scope.Add(
      absl::StrCat(IsResource(v) ? "Resource" : "", gradient.size() > 1 ? "Sparse" : "", "Apply", kernel_.op),
      std::move(inputs), std::move(attrs));
}

Node* KernelOptimizer::ApplyDense(const Scope& scope, Output gradient, const GraphVariable& v) {
  return Run(scope, v, {gradient});
}

Node* KernelOptimizer::ApplySparse(const Scope& scope, Output values, Output indices, const GraphVariable& v) {
  return Run(scope, v, {values, indices});
}

}  // namespace millstream
