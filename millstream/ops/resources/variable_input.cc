// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/resources/variable_input.h"

namespace millstream {

Status UninitializedVariable(const KernelContext& ctx, int i) {
  if (ctx.input_is_ref(i)) {
    return errors::FailedPrecondition("Attempting to use uninitialized value ", ctx.ref_input(i).name());
  }
  const Tensor& handles = ctx.input(i);
  if (handles.dtype() != DType::kResource || handles.num_elements() != 1) {
    return errors::InvalidArgument("input ", i, " must be a scalar resource handle");
  }
  const ResourceHandle& handle = handles.data<ResourceHandle>()[0];
  return errors::FailedPrecondition("Error while reading resource variable ", handle.name,
                                    " from Container: ", handle.container,
                                    ". This could mean that the variable was uninitialized. Not found: ", "Resource ",
                                    handle.container, "/", handle.name, " does not exist.");
}

Status MissingVariable(const KernelContext& ctx, int i) {
  if (ctx.input_is_ref(i)) return UninitializedVariable(ctx, i);
  const ResourceHandle& handle = ctx.input(i).data<ResourceHandle>()[0];
  return errors::NotFound("Resource ", handle.container, "/", handle.name,
                          " does not exist. (The variable was not initialized.)");
}

StatusOr<Ref<Variable>> VariableInput(const KernelContext& ctx, int i, DType dtype) {
  Ref<Variable> variable;
  if (ctx.input_is_ref(i)) {
    variable = ctx.input_ref(i);
  } else {
    StatusOr<Ref<Variable>> found = ctx.ResourceInput<Variable>(i);
    if (absl::IsNotFound(found.status())) return UninitializedVariable(ctx, i);
    RETURN_IF_ERROR(found.status());
    variable = *std::move(found);
  }
  if (dtype != DType::kInvalid && variable->dtype() != dtype) {
    return errors::InvalidArgument("Trying to access variable ", variable->name(), " with wrong dtype. Expected ",
                                   DTypeName(variable->dtype()), " got ", DTypeName(dtype));
  }
  return variable;
}

StatusOr<Tensor> ReadVariable(const KernelContext& ctx, int i, DType dtype) {
  ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, i, dtype));
  Tensor value = variable->Snapshot();
  if (!value.IsInitialized()) return UninitializedVariable(ctx, i);
  return value;
}

StatusOr<PartialShape> VariableShapeOf(const ShapeContext& c, int i, absl::string_view dtype_attr) {
  const DType found = c.input_handle_dtype(i);
  if (found == DType::kInvalid) return PartialShape::Unknown();
  DType expected = DType::kInvalid;
  RETURN_IF_ERROR(c.GetAttr(dtype_attr, &expected));
  if (found != expected) {
    return errors::InvalidArgument("Trying to read variable with wrong dtype. Expected ", DTypeName(found), " got ",
                                   DTypeName(expected));
  }
  return c.input_handle_shape(i);
}

}  // namespace millstream
