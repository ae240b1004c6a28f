// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/scatter_nd.h"

#include "millstream/framework/op.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {
namespace {

// Updates slices of the variable behind input 0, be it a reference or a handle.
template <NdUpdate update>
class VariableScatterNd : public Kernel {
 public:
  explicit VariableScatterNd(KernelInit& init) : dtype_(RemoveRef(init.input_types()[2])) {
    init.Check(ReadBadIndexPolicy(init.attrs(), &policy_));
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Variable> variable, VariableInput(ctx, 0, dtype_));
    {
      MutexLock lock(variable->mu());
      if (!variable->tensor().IsInitialized()) return MissingVariable(ctx, 0);
      const Shape& shape = variable->tensor().shape();
      if (shape.rank() < 1) {
        return errors::InvalidArgument("Output must be at least 1-D, got shape: ", shape.ToString());
      }
      if (shape.num_elements() == 0 && (ctx.input(1).num_elements() != 0 || ctx.input(2).num_elements() != 0)) {
        return errors::InvalidArgument("Indices and updates specified for empty output shape");
      }
      ASSIGN_OR_RETURN(Tensor * value, variable->MutableTensor());
      RETURN_IF_ERROR(ScatterNdInto(ctx, update, ctx.input(1), ctx.input(2), policy_, value));
    }
    ForwardRef(ctx);
    return OkStatus();
  }

 private:
  const DType dtype_;
  BadIndex policy_ = BadIndex::kError;
};

Status ScatterNdRefShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckNdUpdateShapes(c, c.input(0)));
  c.set_output(0, c.input(0));
  return OkStatus();
}

Status ResourceScatterNdShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape variable, VariableShapeOf(c, 0, "T"));
  return CheckNdUpdateShapes(c, variable);
}

void ScatterNdArgs(OpBuilder& op) {
  op.Input("ref: Ref(T)").Input("indices: Tindices").Input("updates: T").Output("output_ref: Ref(T)").Updates();
}
void ScatterNdAttrs(OpBuilder& op) {
  op.Attr("Tindices: {int32, int64}")
      .Attr("use_locking: bool = false")
      .Attr("bad_indices_policy: string = ''")
      .Shape(ScatterNdRefShape);
}
void ResourceScatterNdOp(OpBuilder& op) {
  op.Input("ref: resource")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Attr("T: type")
      .Attr("Tindices: {int32, int64}")
      .Attr("use_locking: bool = true")
      .Attr("bad_indices_policy: string = ''")
      .Updates()
      .Stateful()
      .Shape(ResourceScatterNdShape);
}

// On a variable by reference, for operations that calculate.
template <NdUpdate kind, typename Elements>
void ScatterNdOp(OpBuilder& op) {
  op.With(ScatterNdArgs).Attr("T: numbertype").With(ScatterNdAttrs).CpuFor<VariableScatterNd<kind>>(Elements{});
}

using AssignTypes = Join<NumberAndBoolTypes, Types<std::string>>;

OP("ScatterNdUpdate")
    .With(ScatterNdArgs)
    .Attr("T: type")
    .Attr("Tindices: {int32, int64}")
    .Attr("use_locking: bool = true")
    .Attr("bad_indices_policy: string = ''")
    .Shape(ScatterNdRefShape)
    .NotDifferentiable()
    .CpuFor<VariableScatterNd<NdUpdate::kAssign>>(AssignTypes{})
    .Doc("Replaces the slices of a variable that indices points at.");
OP("ResourceScatterNdUpdate")
    .With(ResourceScatterNdOp)
    .CpuFor<VariableScatterNd<NdUpdate::kAssign>>(AssignTypes{})
    .Doc("Replaces the slices of the variable behind a handle that indices points at.");
OP("ScatterNdAdd")
    .With(ScatterNdOp<NdUpdate::kAdd, NumberAndBoolTypes>)
    .NotDifferentiable()
    .Doc("Adds to the slices of a variable that indices points at.");
OP("ResourceScatterNdAdd")
    .With(ResourceScatterNdOp)
    .CpuFor<VariableScatterNd<NdUpdate::kAdd>>(NumberAndBoolTypes{})
    .Doc("Adds to the slices of the variable behind a handle that indices points at.");
OP("ScatterNdSub")
    .With(ScatterNdOp<NdUpdate::kSub, NumberAndBoolTypes>)
    .NotDifferentiable()
    .Doc("Subtracts from the slices of a variable that indices points at.");
OP("ResourceScatterNdSub")
    .With(ResourceScatterNdOp)
    .CpuFor<VariableScatterNd<NdUpdate::kSub>>(NumberAndBoolTypes{})
    .Doc("Subtracts from the slices of the variable behind a handle that indices points at.");
OP("ScatterNdMin")
    .With(ScatterNdOp<NdUpdate::kMin, RealTypes>)
    .Doc("Lowers the slices of a variable that indices points at.");
OP("ResourceScatterNdMin")
    .With(ResourceScatterNdOp)
    .CpuFor<VariableScatterNd<NdUpdate::kMin>>(RealTypes{})
    .Doc("Lowers the slices of the variable behind a handle that indices points at.");
OP("ScatterNdMax")
    .With(ScatterNdOp<NdUpdate::kMax, RealTypes>)
    .Doc("Raises the slices of a variable that indices points at.");
OP("ResourceScatterNdMax")
    .With(ResourceScatterNdOp)
    .CpuFor<VariableScatterNd<NdUpdate::kMax>>(RealTypes{})
    .Doc("Raises the slices of the variable behind a handle that indices points at.");

}  // namespace
}  // namespace millstream
