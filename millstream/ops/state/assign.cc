// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/math/simd.h"
#include "millstream/ops/state/assigned_variable.h"

namespace millstream {
namespace {

// Makes `value` the variable's own: taken over where nobody else holds it,
// copied into the old buffer where that is free and fits, copied into a new one
// otherwise.
Status Store(KernelContext& ctx, int input, Variable& variable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(variable.mu()) {
  const Tensor& value = ctx.input(input);
  if (ctx.InputIsExclusive(input)) {
    variable.set_tensor(ctx.TakeInput(input));
    return OkStatus();
  }
  const Tensor& old = variable.tensor();
  if (IsPlainBytes(value.dtype()) && old.RefIsOne() && old.dtype() == value.dtype() && old.shape() == value.shape()) {
    ASSIGN_OR_RETURN(Tensor * mutable_old, variable.MutableTensor());
    std::memcpy(mutable_old->raw(), value.raw(), value.ByteSize());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor copy, value.Clone());
  variable.set_tensor(std::move(copy));
  return OkStatus();
}

class AssignOp final : public Kernel {
 public:
  explicit AssignOp(KernelInit& init) : validate_shape_(init.Attr<bool>("validate_shape")) {}

  Status Compute(KernelContext& ctx) override {
    Variable& variable = ctx.ref_input(0);
    {
      MutexLock lock(variable.mu());
      if (validate_shape_) RETURN_IF_ERROR(CheckAssignedShape(variable, ctx.input(1).shape()));
      RETURN_IF_ERROR(Store(ctx, 1, variable));
    }
    ForwardRef(ctx);
    return OkStatus();
  }

 private:
  const bool validate_shape_;
};

class AssignVariableOp final : public Kernel {
 public:
  explicit AssignVariableOp(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")), validate_shape_(init.Attr<bool>("validate_shape")) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, FindOrCreateVariable(ctx, dtype_));
    MutexLock lock(variable->mu());
    RETURN_IF_ERROR(CheckAssigned(*variable, dtype_, ctx.input(1).shape(), validate_shape_));
    return Store(ctx, 1, *variable);
  }

 private:
  const DType dtype_;
  const bool validate_shape_;
};

// var += sign * value, for references and handles alike. Unsigned and signed
// sums are the same bits.
template <typename T, bool kAdd>
void Accumulate(KernelContext& ctx, T* var, const T* value, int64_t n) {
  using W = Compute<T>;
  simd::ParallelFor<W>(ctx.pool(), n, 0.4, [=](int64_t i) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      var[i] = static_cast<T>(kAdd ? U(var[i]) + U(value[i]) : U(var[i]) - U(value[i]));
    } else {
      var[i] = T(kAdd ? W(var[i]) + W(value[i]) : W(var[i]) - W(value[i]));
    }
  });
}

template <typename T, bool kAdd>
class AssignUpdate final : public Kernel {
 public:
  explicit AssignUpdate(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, kDTypeOf<T>));
    const Tensor& value = ctx.input(1);
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return MissingVariable(ctx, 0);
      if (!(variable->tensor().shape() == value.shape())) return ShapeError(ctx, variable->tensor().shape());
      ASSIGN_OR_RETURN(Tensor * var, variable->MutableTensor());
      Accumulate<T, kAdd>(ctx, var->data<T>(), value.data<T>(), value.num_elements());
    }
    ForwardRef(ctx);
    return OkStatus();
  }

 private:
  static Status ShapeError(const KernelContext& ctx, const Shape& shape) {
    if (ctx.input_is_ref(0)) return errors::InvalidArgument("Parameters and update must be the same size");
    return errors::InvalidArgument("Cannot update variable with shape ", shape.ToString(),
                                   " using a Tensor with shape ", ctx.input(1).shape().ToString(),
                                   ", shapes must be equal.");
  }
};
template <typename T>
using AssignAdd = AssignUpdate<T, true>;
template <typename T>
using AssignSub = AssignUpdate<T, false>;

Status AssignShape(ShapeContext& c) {
  bool validate = false;
  RETURN_IF_ERROR(c.GetAttr("validate_shape", &validate));
  return validate ? MergeBothShapes(c) : (c.set_output(0, c.input(1)), OkStatus());
}

Status AssignVariableShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, VariableShapeOf(c, 0, "dtype"));
  return shape.MergeWith(c.input(1)).status();
}

OP("Assign")
    .Updates()
    .Trait(OpTrait::kOverwrites)
    .Input("ref: Ref(T)")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: type")
    .Attr("validate_shape: bool = true")
    .Attr("use_locking: bool = true")
    .AllowsUninitializedInput()
    .Shape(AssignShape)
    .NotDifferentiable()
    .Cpu<AssignOp>()
    .Doc("Gives a variable a value.");

OP("AssignAdd")
    .Updates()
    .Input("ref: Ref(T)")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: numbertype")
    .Attr("use_locking: bool = false")
    .Shape(MergeBothShapes)
    .NotDifferentiable()
    .Cpu<AssignAdd>(NumberTypes{})
    .Doc("Adds to a variable.");

OP("AssignSub")
    .Updates()
    .Input("ref: Ref(T)")
    .Input("value: T")
    .Output("output_ref: Ref(T)")
    .Attr("T: numbertype")
    .Attr("use_locking: bool = false")
    .Shape(MergeBothShapes)
    .NotDifferentiable()
    .Cpu<AssignSub>(NumberTypes{})
    .Doc("Subtracts from a variable.");

OP("AssignVariableOp")
    .Updates()
    .Trait(OpTrait::kOverwrites)
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .Attr("validate_shape: bool = false")
    .Stateful()
    .Shape(AssignVariableShape)
    .Cpu<AssignVariableOp>()
    .Doc("Gives the variable behind a handle a value.");

OP("AssignAddVariableOp")
    .Updates()
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(AssignVariableShape)
    .Cpu<AssignAdd>(NumberTypes{}, "dtype")
    .Doc("Adds to the variable behind a handle.");

OP("AssignSubVariableOp")
    .Updates()
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(AssignVariableShape)
    .Cpu<AssignSub>(NumberTypes{}, "dtype")
    .Doc("Subtracts from the variable behind a handle.");

}  // namespace
}  // namespace millstream
