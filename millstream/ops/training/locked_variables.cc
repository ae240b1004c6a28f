// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/locked_variables.h"

#include <algorithm>
#include <functional>

#include "millstream/framework/op_def.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {

LockedVariables::~LockedVariables() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = num_locked_ - 1; i >= 0; --i) locked_[i]->mu().Unlock();
}

Status LockedVariables::Lock(KernelContext& ctx, int count, DType dtype) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  MS_CHECK(count <= kMax);
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(variables_[i], VariableInput(ctx, i, dtype));
  }
  count_ = count;
  for (Variable* last = nullptr;;) {  // the smallest address beyond the last one, until there is none
    Variable* next = nullptr;
    for (int i = 0; i < count; ++i) {
      Variable* v = variables_[i].get();
      if (std::less<>()(last, v) && (next == nullptr || std::less<>()(v, next))) next = v;
    }
    if (next == nullptr) break;
    next->mu().Lock();
    locked_[num_locked_++] = last = next;
  }
  for (int i = 0; i < count; ++i) {
    if (!tensor(i).IsInitialized()) return UninitializedVariable(ctx, i);
  }
  return OkStatus();
}

const Tensor& LockedVariables::tensor(int i) const ABSL_NO_THREAD_SAFETY_ANALYSIS { return variables_[i]->tensor(); }

StatusOr<Tensor*> LockedVariables::Mutable(int i) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return variables_[i]->MutableTensor();
}

Status LockedVariables::RenewSharedBuffers() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  std::array<Tensor, kMax> fresh;  // all of them, before any value is without its variable
  for (int i = 0; i < count_; ++i) {
    const auto first = std::find(variables_.begin(), variables_.begin() + i, variables_[i]);
    if (first != variables_.begin() + i || tensor(i).RefIsOne()) continue;
    ASSIGN_OR_RETURN(fresh[i], Tensor::Make(tensor(i).dtype(), tensor(i).shape()));
  }
  for (int i = 0; i < count_; ++i) {
    if (!fresh[i].IsInitialized()) continue;
    old_[i] = tensor(i);
    variables_[i]->set_tensor(std::move(fresh[i]));
  }
  return OkStatus();
}

const Shape& LockedVariables::shape() const { return tensor(0).shape(); }

Status LockedVariables::CheckSlots(const KernelContext& ctx) const {
  for (int i = 1; i < count_; ++i) {
    if (tensor(i).shape() == shape()) continue;
    return errors::InvalidArgument("var and ", ctx.op().inputs[i].name, " do not have the same shape",
                                   shape().ToString(), " ", tensor(i).shape().ToString());
  }
  return OkStatus();
}

Status LockedVariables::CheckDense(const KernelContext& ctx, int grad) const {
  RETURN_IF_ERROR(CheckSlots(ctx));
  if (ctx.input(grad).shape() == shape()) return OkStatus();
  return errors::InvalidArgument("var and ", ctx.op().inputs[grad].name, " do not have the same shape",
                                 shape().ToString(), " ", ctx.input(grad).shape().ToString());
}

Status LockedVariables::CheckSparse(const KernelContext& ctx, int grad, int indices) const {
  if (shape().rank() < 1) return errors::InvalidArgument("var must be at least 1 dimensional");
  RETURN_IF_ERROR(CheckSlots(ctx));
  const Tensor& rows = ctx.input(grad);
  const Tensor& at = ctx.input(indices);
  if (at.rank() != 1) return errors::InvalidArgument("indices must be one-dimensional");
  if (rows.rank() < 1 || rows.dim(0) != at.dim(0)) {
    return errors::InvalidArgument("grad must be the same size as indices in the first dimension.");
  }
  if (rows.rank() != shape().rank()) {
    return errors::InvalidArgument("var and grad must have the same rank: ", shape().ToString(), " ",
                                   rows.shape().ToString());
  }
  for (int d = 1; d < shape().rank(); ++d) {
    if (shape().dim(d) != rows.dim(d)) return errors::InvalidArgument("var and grad must match in dimension ", d);
  }
  return OkStatus();
}

}  // namespace millstream
