// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {
namespace {

// Holds on to its variable, and makes a new one after the container was reset.
class VariableOp final : public Kernel {
 public:
  explicit VariableOp(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")),
        shape_(init.Attr<PartialShape>("shape")),
        container_(init.Attr<std::string>("container")),
        name_(init.Attr<std::string>("shared_name")),
        node_name_(init.node_name()) {
    if (name_.empty()) name_ = node_name_;
  }

  Status Compute(KernelContext& ctx) override {
    Ref<Variable> variable;
    {
      MutexLock lock(mu_);
      if (!variable_ || !variable_->alive()) RETURN_IF_ERROR(Find(*ctx.resources()));
      variable = variable_;
    }
    ctx.set_output_ref(0, std::move(variable));
    return OkStatus();
  }

 private:
  Status Find(ResourceManager& resources) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ASSIGN_OR_RETURN(Ref<Variable> found,
                     resources.LookupOrCreate<Variable>(container_, name_, [this]() -> StatusOr<Ref<Variable>> {
                       return MakeRef<Variable>(dtype_, shape_, node_name_);
                     }));
    if (found->dtype() != dtype_) {
      return errors::InvalidArgument("Variable '", name_, "' is shared with another type: ", DTypeName(found->dtype()),
                                     ", not ", DTypeName(dtype_));
    }
    variable_ = std::move(found);
    return OkStatus();
  }

  const DType dtype_;
  const PartialShape shape_;
  const std::string container_;
  std::string name_;
  const std::string node_name_;
  Mutex mu_;
  Ref<Variable> variable_ ABSL_GUARDED_BY(mu_);
};

// In the old op an empty shape attribute stands for an unknown one.
Status VariableV1Shape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  if (shape.rank() > 0) c.set_output(0, std::move(shape));
  return OkStatus();
}

std::string TemporaryName(KernelContext& ctx, const std::string& name) {
  return absl::StrCat("tmp_var/", name, "/", ctx.frame_iter());
}

// Lives in the step's own resources, so that steps at the same time do not
// meet.
class TemporaryVariableOp final : public Kernel {
 public:
  explicit TemporaryVariableOp(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")),
        shape_(init.Attr<PartialShape>("shape")),
        name_(init.Attr<std::string>("var_name")) {
    if (name_.empty()) name_ = init.node_name();
    if (!shape_.IsFullyDefined())
      init.Fail(errors::InvalidArgument("shape must be fully defined: ", shape_.ToString()));
    if (!IsKnown(dtype_)) init.Fail(errors::InvalidArgument("cannot hold elements of type ", DTypeName(dtype_)));
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor value, ctx.AllocateTemp(dtype_, shape_.ToShape()));
    Ref<Variable> variable = MakeRef<Variable>(dtype_, shape_, name_);
    variable->Assign(std::move(value));
    RETURN_IF_ERROR(ctx.step_resources()->Create<Variable>("", TemporaryName(ctx, name_), variable));
    ctx.set_output_ref(0, std::move(variable));
    return OkStatus();
  }

 private:
  const DType dtype_;
  const PartialShape shape_;
  std::string name_;
};

class DestroyTemporaryVariableOp final : public Kernel {
 public:
  explicit DestroyTemporaryVariableOp(KernelInit& init) : name_(init.Attr<std::string>("var_name")) {}

  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, ctx.ref_input(0).Snapshot());
    return ctx.step_resources()->Delete<Variable>("", TemporaryName(ctx, name_));
  }

 private:
  const std::string name_;
};

Status IsVariableInitializedCpu(KernelContext& ctx) {
  ctx.set_output(0, Tensor::Scalar(ctx.ref_input(0).IsInitialized()));
  return OkStatus();
}

OP("VariableV2")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kVariable))
    .Output("ref: Ref(dtype)")
    .Attr("shape: shape")
    .Attr("dtype: type")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(ShapeFromAttr)
    .Cpu<VariableOp>()
    .Doc(
        "State that lives on between steps, read and changed through a "
        "reference.");

OP("Variable")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kVariable))
    .Output("ref: Ref(dtype)")
    .Attr("shape: shape")
    .Attr("dtype: type")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Stateful()
    .Shape(VariableV1Shape)
    .Cpu<VariableOp>()
    .Doc("VariableV2 in which an empty shape stands for an unknown one.");

OP("TemporaryVariable")
    .Output("ref: Ref(dtype)")
    .Attr("shape: shape")
    .Attr("dtype: type")
    .Attr("var_name: string = ''")
    .Stateful()
    .Shape(ShapeFromAttr)
    .Cpu<TemporaryVariableOp>()
    .Doc("A variable of one step; its value is undefined until it is assigned.");

OP("DestroyTemporaryVariable")
    .Input("ref: Ref(T)")
    .Output("value: T")
    .Attr("T: type")
    .Attr("var_name: string")
    .Shape(UnchangedShape)
    .Cpu<DestroyTemporaryVariableOp>()
    .Doc("The last value of a temporary variable, which ends here.");

OP("IsVariableInitialized")
    .Trait(OpTrait::kAnyDevice)
    .Input("ref: Ref(dtype)")
    .Output("is_initialized: bool")
    .Attr("dtype: type")
    .AllowsUninitializedInput()
    .Shape(ScalarShape)
    .Cpu(IsVariableInitializedCpu)
    .HostMemory("is_initialized")
    .Doc("Whether the variable has a value.");

}  // namespace
}  // namespace millstream
