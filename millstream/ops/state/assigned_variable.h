// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STATE_ASSIGNED_VARIABLE_H_
#define MILLSTREAM_OPS_STATE_ASSIGNED_VARIABLE_H_

#include "millstream/ops/resources/variable_input.h"

namespace millstream {

// What kernels of Assign and AssignVariableOp check, on every device.

inline Status CheckAssignedShape(Variable& variable, const Shape& shape) ABSL_EXCLUSIVE_LOCKS_REQUIRED(variable.mu()) {
  const bool initialized = variable.tensor().IsInitialized();
  const bool fits =
      initialized ? variable.tensor().shape() == shape : variable.declared_shape().IsCompatibleWith(shape);
  if (fits) return OkStatus();
  return errors::InvalidArgument(
      "Assign requires shapes of both tensors to match. lhs shape= ",
      initialized ? variable.tensor().shape().ToString() : variable.declared_shape().ToString(),
      " rhs shape= ", shape.ToString());
}

// For variables behind handles. As in TensorFlow, the first value may have any shape.
inline Status CheckAssigned(Variable& variable, DType dtype, const Shape& shape, bool validate_shape)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(variable.mu()) {
  if (variable.dtype() != dtype) {
    return errors::InvalidArgument("Trying to assign variable with wrong dtype. Expected ", DTypeName(variable.dtype()),
                                   " got ", DTypeName(dtype));
  }
  const Tensor& old = variable.tensor();
  if (!validate_shape || !old.IsInitialized() || old.shape() == shape) return OkStatus();
  return errors::InvalidArgument("Trying to assign to variable with tensor with wrong shape. Expected ",
                                 old.shape().ToString(), " got ", shape.ToString());
}

// The variable of input 0. One that was destroyed comes back under the name in the handle.
inline StatusOr<Ref<Variable>> FindOrCreateVariable(KernelContext& ctx, DType dtype) {
  StatusOr<Ref<Variable>> found = ctx.ResourceInput<Variable>(0);
  if (!absl::IsNotFound(found.status())) return found;
  const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
  return ctx.resources()->LookupOrCreate<Variable>(handle.container, handle.name, [&]() -> StatusOr<Ref<Variable>> {
    return MakeRef<Variable>(dtype, PartialShape(), handle.name);
  });
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STATE_ASSIGNED_VARIABLE_H_
