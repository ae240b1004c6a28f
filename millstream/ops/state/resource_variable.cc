// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/resources/variable_input.h"

namespace millstream {
namespace {

// Makes the variable (still without a value) and one handle tensor that every
// step shares, until the container is reset.
class VarHandleOp final : public Kernel {
 public:
  explicit VarHandleOp(KernelInit& init)
      : dtype_(init.Attr<DType>("dtype")),
        shape_(init.Attr<PartialShape>("shape")),
        container_(init.Attr<std::string>("container")),
        name_(init.Attr<std::string>("shared_name")),
        device_(init.device()->name()) {
    if (name_.empty()) name_ = init.node_name();
  }

  Status Compute(KernelContext& ctx) override {
    Tensor handle;
    {
      MutexLock lock(mu_);
      if (!handle_.IsInitialized() || !handle_.scalar<ResourceHandle>().resource->alive()) RETURN_IF_ERROR(Find(ctx));
      handle = handle_;
    }
    ctx.set_output(0, std::move(handle));
    return OkStatus();
  }

 private:
  Status Find(KernelContext& ctx) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ASSIGN_OR_RETURN(Ref<Variable> variable,
                     ctx.resources()->LookupOrCreate<Variable>(container_, name_, [this]() -> StatusOr<Ref<Variable>> {
                       return MakeRef<Variable>(dtype_, shape_, name_);
                     }));
    ResourceHandle handle;
    handle.device = device_;
    handle.container = container_.empty() ? ctx.resources()->default_container() : container_;
    handle.name = name_;
    handle.type_name = "N10tensorflow3VarE";
    handle.resource = std::move(variable);
    handle_ = Tensor::Scalar(handle);
    return OkStatus();
  }

  const DType dtype_;
  const PartialShape shape_;
  const std::string container_;
  std::string name_;
  const std::string device_;
  Mutex mu_;
  Tensor handle_ ABSL_GUARDED_BY(mu_);
};

Status ReadVariableCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor value, ReadVariable(ctx, 0, ctx.output_dtype(0)));
  ctx.set_output(0, std::move(value));
  return OkStatus();
}

Status VarIsInitializedCpu(KernelContext& ctx) {
  const StatusOr<Ref<Variable>> variable = ctx.ResourceInput<Variable>(0);
  if (!variable.ok() && !absl::IsNotFound(variable.status())) return variable.status();
  ctx.set_output(0, Tensor::Scalar(variable.ok() && (*variable)->IsInitialized()));
  return OkStatus();
}

template <typename T>
class VariableShape final : public Kernel {
 public:
  explicit VariableShape(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Ref<Variable> variable, VariableInput(ctx, 0));
    const Tensor value = variable->Snapshot();
    if (!value.IsInitialized()) return MissingVariable(ctx, 0);
    const Shape& shape = value.shape();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({shape.rank()})));
    for (int i = 0; i < shape.rank(); ++i) {
      if (static_cast<int64_t>(static_cast<T>(shape.dim(i))) != shape.dim(i)) {
        return errors::InvalidArgument("Shape output type is 32-bit but shape.dim(", i, ") = ", shape.dim(i));
      }
      out->data<T>()[i] = static_cast<T>(shape.dim(i));
    }
    return OkStatus();
  }
};

class DestroyResource final : public Kernel {
 public:
  explicit DestroyResource(KernelInit& init) : ignore_missing_(init.Attr<bool>("ignore_lookup_error")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& handles = ctx.input(0);
    if (handles.num_elements() != 1) return errors::InvalidArgument("resource must be a scalar handle");
    const ResourceHandle& handle = handles.data<ResourceHandle>()[0];
    // A handle alone makes the variable here, but not in TensorFlow: without a
    // value it counts as missing.
    const auto variable = ctx.resources()->Lookup<Variable>(handle.container, handle.name);
    const bool empty = variable.ok() && !(*variable)->IsInitialized();
    const Status status = ctx.resources()->DeleteAnyType(handle.container, handle.name);
    if (ignore_missing_ && absl::IsNotFound(status)) return OkStatus();
    if (empty && !ignore_missing_) {
      return errors::NotFound("Resource ", handle.container, "/", handle.name, " does not exist.");
    }
    return status;
  }

 private:
  const bool ignore_missing_;
};

Status VarHandleShape(ShapeContext& c) {
  PartialShape shape;
  DType dtype = DType::kInvalid;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  RETURN_IF_ERROR(c.GetAttr("dtype", &dtype));
  c.set_output(0, Shape());
  c.set_output_handle(0, std::move(shape), dtype);
  return OkStatus();
}

Status ReadVariableShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, VariableShapeOf(c, 0, "dtype"));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status VariableShapeShape(ShapeContext& c) {
  const PartialShape& shape = c.input_handle_shape(0);
  c.set_output(0, PartialShape({shape.rank()}));  // -1 when unknown
  return OkStatus();
}

OP("VarHandleOp")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kVariable))
    .Output("resource: resource")
    .Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .Attr("debug_name: string = ''")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Attr("allowed_devices: list(string) = []")
    .Stateful()
    .Shape(VarHandleShape)
    .Cpu<VarHandleOp>()
    .Doc("A handle to state that lives on between steps.");

OP("ReadVariableOp")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("resource: resource")
    .Output("value: dtype")
    .Attr("dtype: type")
    .Stateful()
    .Shape(ReadVariableShape)
    .Gradient([](GradContext& g) {
      g.set_dx(0, g.grad(0));
      return g.status();
    })
    .Cpu(ReadVariableCpu)
    .Doc(
        "The value of the variable behind a handle, which later updates do not "
        "change.");

OP("VarIsInitializedOp")
    .Trait(OpTrait::kAnyDevice)
    .Input("resource: resource")
    .Output("is_initialized: bool")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(VarIsInitializedCpu)
    .HostMemory(kAllArgs)
    .Doc("Whether the variable behind a handle has a value.");

OP("VariableShape")
    .Trait(OpTrait::kAnyDevice)
    .Input("input: resource")
    .Output("output: out_type")
    .Attr("out_type: {int32, int64} = DT_INT32")
    .Stateful()
    .Shape(VariableShapeShape)
    .NotDifferentiable()
    .Cpu<VariableShape>(IndexTypes{}, "out_type")
    .HostMemory(kAllArgs)
    .Doc("The shape of the variable behind a handle.");

OP("DisableCopyOnRead")
    .Input("resource: resource")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu([](KernelContext& ctx) { return ctx.ResourceInput<Variable>(0).status(); })
    .Doc("Nothing but a look whether the variable exists: reading never copies here. TensorFlow's savers have it.");

OP("DestroyResourceOp")
    .Trait(OpTrait::kAnyDevice)
    .Input("resource: resource")
    .Attr("ignore_lookup_error: bool = true")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<DestroyResource>()
    .Doc("Removes a resource; steps that hold it may finish with it.");

}  // namespace
}  // namespace millstream
