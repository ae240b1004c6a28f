// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/resources/handle.h"

namespace millstream {
namespace {

// Values that a loop leaves for its gradient. Belongs to the step.
class Stack final : public Resource {
 public:
  Stack(DType dtype, int64_t max_size, std::string name) : dtype_(dtype), max_size_(max_size), name_(std::move(name)) {}

  DType dtype() const { return dtype_; }
  std::string DebugString() const override { return absl::StrCat("Stack ", name_); }

  Status Push(Tensor value) {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (static_cast<int64_t>(values_.size()) >= max_size_) {
      return errors::InvalidArgument("Stack[", name_, "] overflowed its max_size (", max_size_, ")");
    }
    values_.push_back(std::move(value));
    return OkStatus();
  }

  StatusOr<Tensor> Pop() {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (values_.empty()) return errors::InvalidArgument("Stack[", name_, "] is empty when calling Pop().");
    Tensor value = std::move(values_.back());
    values_.pop_back();
    return value;
  }

  void Close() {
    std::vector<Tensor> dropped;
    MutexLock lock(mu_);
    dropped.swap(values_);
    closed_ = true;
  }

 private:
  Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return closed_ ? errors::InvalidArgument("Stack[", name_, "] has already been closed.") : OkStatus();
  }

  const DType dtype_;
  const int64_t max_size_;
  const std::string name_;
  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Tensor> values_ ABSL_GUARDED_BY(mu_);
};

// Every execution makes a stack of its own.
template <bool kStringHandle>
class StackOp final : public Kernel {
 public:
  explicit StackOp(KernelInit& init)
      : dtype_(init.Attr<DType>("elem_type")), name_(init.Attr<std::string>("stack_name")) {
    if (name_.empty()) name_ = init.node_name();
  }

  Status Compute(KernelContext& ctx) override {
    int64_t max_size = -1;
    if (!kStringHandle) {
      if (ctx.input(0).rank() != 0) {
        return errors::InvalidArgument("Stack size must be a scalar, got shape ", ctx.input(0).shape().ToString());
      }
      max_size = ctx.input(0).scalar<int32_t>();
    }
    if (max_size < 0) max_size = std::numeric_limits<int64_t>::max();
    ResourceManager& resources = *ctx.step_resources();
    const std::string name = ctx.resources()->UniqueName(name_);  // steps see each other's names
    Ref<Stack> stack = MakeRef<Stack>(dtype_, max_size, name);
    RETURN_IF_ERROR(resources.Create<Stack>("_stacks", name, stack));
    if constexpr (kStringHandle)
      ctx.set_output_ref(0, MakeStringHandle("_stacks", name));
    else
      ctx.set_output(0, MakeHandle(*ctx.device(), "_stacks", name, "N10tensorflow5StackE", std::move(stack)));
    return OkStatus();
  }

 private:
  const DType dtype_;
  std::string name_;
};

Status StackPushCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Stack> stack, HandleInput<Stack>(ctx, 0));
  if (ctx.input(1).dtype() != stack->dtype()) {
    return errors::InvalidArgument("Must have type ", DTypeName(stack->dtype()), " but got ",
                                   DTypeName(ctx.input(1).dtype()));
  }
  ctx.set_output(0, ctx.input(1));
  return stack->Push(ctx.TakeInput(1));
}

Status StackPopCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Stack> stack, HandleInput<Stack>(ctx, 0));
  if (ctx.output_dtype(0) != stack->dtype()) {
    return errors::InvalidArgument("Must have type ", DTypeName(stack->dtype()), " but got ",
                                   DTypeName(ctx.output_dtype(0)));
  }
  ASSIGN_OR_RETURN(Tensor value, stack->Pop());
  ctx.set_output(0, std::move(value));
  return OkStatus();
}

Status StackCloseCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Stack> stack, HandleInput<Stack>(ctx, 0));
  stack->Close();
  return OkStatus();
}

Status PushShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return OkStatus();
}

OP("StackV2")
    .Trait(OpTrait::kAnyDevice)
    .Input("max_size: int32")
    .Output("handle: resource")
    .Attr("elem_type: type")
    .Attr("stack_name: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu<StackOp<false>>()
    .HostMemory("max_size")
    .Doc("A new stack of tensors, gone with the step.");

OP("StackPushV2")
    .Trait(KindTrait(OpKind::kStackPush))
    .Trait(OpTrait::kAnyDevice)
    .Input("handle: resource")
    .Input("elem: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("swap_memory: bool = false")
    .Stateful()
    .Shape(PushShape)
    .NotDifferentiable()
    .Cpu(StackPushCpu)
    .Doc("Puts a tensor on a stack and passes it on.");

OP("StackPopV2")
    .Trait(KindTrait(OpKind::kStackPop))
    .Trait(OpTrait::kAnyDevice)
    .Input("handle: resource")
    .Output("elem: elem_type")
    .Attr("elem_type: type")
    .Stateful()
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu(StackPopCpu)
    .Doc("Takes the last tensor off a stack.");

OP("StackCloseV2")
    .Trait(OpTrait::kAnyDevice)
    .Input("handle: resource")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(StackCloseCpu)
    .Doc("Drops what is on a stack.");

OP("Stack")
    .Output("handle: Ref(string)")
    .Attr("elem_type: type")
    .Attr("stack_name: string = ''")
    .Stateful()
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu<StackOp<true>>()
    .Doc("StackV2 with a handle of strings.");

OP("StackPush")
    .Input("handle: Ref(string)")
    .Input("elem: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("swap_memory: bool = false")
    .Shape(PushShape)
    .NotDifferentiable()
    .Cpu(StackPushCpu)
    .Doc("StackPushV2 with a handle of strings.");

OP("StackPop")
    .Input("handle: Ref(string)")
    .Output("elem: elem_type")
    .Attr("elem_type: type")
    .Shape(UnknownShape)
    .NotDifferentiable()
    .Cpu(StackPopCpu)
    .Doc("StackPopV2 with a handle of strings.");

OP("StackClose")
    .Input("handle: Ref(string)")
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu(StackCloseCpu)
    .Doc("StackCloseV2 with a handle of strings.");

}  // namespace
}  // namespace millstream
