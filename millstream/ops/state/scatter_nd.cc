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

#define SCATTER_ND(Name, Kind, type_spec, types, locking, end, doc)                    \
  OP("ScatterNd" #Name)                                                                \
      .Input("ref: Ref(T)")                                                            \
      .Input("indices: Tindices")                                                      \
      .Input("updates: T")                                                             \
      .Output("output_ref: Ref(T)")                                                    \
      .Attr("T: " type_spec)                                                           \
      .Attr("Tindices: {int32, int64}")                                                \
      .Attr("use_locking: bool = " locking)                                            \
      .Attr("bad_indices_policy: string = ''")                                         \
      .Shape(ScatterNdRefShape) end.CpuFor<VariableScatterNd<NdUpdate::Kind>>(types{}) \
      .Doc(doc " of a variable that indices points at.");                              \
  OP("ResourceScatterNd" #Name)                                                        \
      .Input("ref: resource")                                                          \
      .Input("indices: Tindices")                                                      \
      .Input("updates: T")                                                             \
      .Attr("T: type")                                                                 \
      .Attr("Tindices: {int32, int64}")                                                \
      .Attr("use_locking: bool = true")                                                \
      .Attr("bad_indices_policy: string = ''")                                         \
      .Stateful()                                                                      \
      .Shape(ResourceScatterNdShape)                                                   \
      .CpuFor<VariableScatterNd<NdUpdate::Kind>>(types{})                              \
      .Doc(doc " of the variable behind a handle that indices points at.")

using AssignTypes = Join<NumberAndBoolTypes, Types<std::string>>;

SCATTER_ND(Update, kAssign, "type", AssignTypes, "true", .NotDifferentiable(), "Replaces the slices");
SCATTER_ND(Add, kAdd, "numbertype", NumberAndBoolTypes, "false", .NotDifferentiable(), "Adds to the slices");
SCATTER_ND(Sub, kSub, "numbertype", NumberAndBoolTypes, "false", .NotDifferentiable(), "Subtracts from the slices");
SCATTER_ND(Min, kMin, "numbertype", RealTypes, "false", , "Lowers the slices");
SCATTER_ND(Max, kMax, "numbertype", RealTypes, "false", , "Raises the slices");
#undef SCATTER_ND

}  // namespace
}  // namespace millstream
