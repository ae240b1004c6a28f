// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RESOURCES_VARIABLE_INPUT_H_
#define MILLSTREAM_OPS_RESOURCES_VARIABLE_INPUT_H_

#include "millstream/framework/kernel.h"
#include "millstream/framework/shape_context.h"

namespace millstream {

// The variable behind input i, be it a reference edge or a resource handle.
// FailedPrecondition if a handle leads to nothing, InvalidArgument if the
// variable does not hold elements of `dtype` (kInvalid: any type will do).
StatusOr<Ref<Variable>> VariableInput(const KernelContext& ctx, int i, DType dtype = DType::kInvalid);

// "Error while reading resource variable ...", FailedPrecondition: what
// TensorFlow says of a variable without a value.
Status UninitializedVariable(const KernelContext& ctx, int i);

// What TensorFlow says when an op other than a plain read or an optimizer finds no value: NotFound for a resource
// handle, FailedPrecondition for a reference.
Status MissingVariable(const KernelContext& ctx, int i);

// The value of the variable behind input i. FailedPrecondition if it has none.
StatusOr<Tensor> ReadVariable(const KernelContext& ctx, int i, DType dtype);

// Passes a reference input on, for ops that return the variable they changed.
// No-op for resource ops, without outputs.
inline void ForwardRef(KernelContext& ctx) {
  if (ctx.num_outputs() > 0) ctx.set_output_ref(0, ctx.input_ref(0));
}

// The shape of the variable behind input i as far as it is known before
// running. InvalidArgument if the handle is known to lead to another type than
// attribute `dtype_attr`.
StatusOr<PartialShape> VariableShapeOf(const ShapeContext& c, int i, absl::string_view dtype_attr);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RESOURCES_VARIABLE_INPUT_H_
