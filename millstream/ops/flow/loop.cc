// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/control_flow_gradients.h"

namespace millstream {
namespace {

// Frames and iterations are the executor's business: the kernels only pass
// their input on.
Status PassValue(KernelContext& ctx) {
  ctx.set_output(0, ctx.TakeInput(0));
  return OkStatus();
}

Status PassRef(KernelContext& ctx) {
  ctx.set_output_ref(0, ctx.input_ref(0));
  return OkStatus();
}

Status LoopCondCpu(KernelContext& ctx) {
  if (ctx.input(0).rank() != 0) {
    return errors::InvalidArgument("LoopCond takes a scalar, got shape ", ctx.input(0).shape().ToString());
  }
  return PassValue(ctx);
}

// What enters a loop may leave an iteration in another shape, unless it is
// constant.
Status EnterShape(ShapeContext& c) {
  bool is_constant = false;
  RETURN_IF_ERROR(c.GetAttr("is_constant", &is_constant));
  if (is_constant) c.set_output(0, c.input(0));
  if (c.input_handle_dtype(0) != DType::kInvalid)
    c.set_output_handle(0, c.input_handle_shape(0), c.input_handle_dtype(0));
  return OkStatus();
}

OP("Enter")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kEnter))
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("frame_name: string")
    .Attr("is_constant: bool = false")
    .Attr("parallel_iterations: int = 10")
    .Shape(EnterShape)
    .Gradient(EnterGrad)
    .Cpu(PassValue)
    .Doc("Brings a value into the frame of a loop.");

OP("RefEnter")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kEnter))
    .Input("data: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Attr("frame_name: string")
    .Attr("is_constant: bool = false")
    .Attr("parallel_iterations: int = 10")
    .Shape(EnterShape)
    .Gradient(EnterGrad)
    .Cpu(PassRef)
    .Doc("Enter for references.");

OP("Exit")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kExit))
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Gradient(ExitGrad)
    .Cpu(PassValue)
    .Doc("Brings a value out of the frame of a loop.");

OP("RefExit")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kExit))
    .Input("data: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Gradient(ExitGrad)
    .Cpu(PassRef)
    .Doc("Exit for references.");

OP("NextIteration")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kNextIteration))
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Gradient(NextIterationGrad)
    .Cpu(PassValue)
    .Doc("Brings a value to the next iteration of a loop.");

OP("RefNextIteration")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kNextIteration))
    .Input("data: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Gradient(NextIterationGrad)
    .Cpu(PassRef)
    .Doc("NextIteration for references.");

OP("LoopCond")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kLoopCond))
    .Input("input: bool")
    .Output("output: bool")
    .Shape(ScalarShape)
    .NotDifferentiable()
    .Cpu(LoopCondCpu)
    .HostMemory(kAllArgs)
    .Doc("Whether a loop goes on.");

OP("ControlTrigger")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kControlTrigger))
    .Shape(NoOutputs)
    .Cpu([](KernelContext&) { return OkStatus(); })
    .Doc("Does nothing, but runs even if its control inputs are dead.");

class Abort final : public Kernel {
 public:
  explicit Abort(KernelInit& init)
      : message_(init.Attr<std::string>("error_msg")), quiet_(init.Attr<bool>("exit_without_error")) {}
  // A graph must not end the process that serves others: the step fails
  // instead.
  Status Compute(KernelContext&) override {
    return quiet_ ? OkStatus() : errors::Aborted("Abort_op intentional failure; ", message_);
  }

 private:
  const std::string message_;
  const bool quiet_;
};

OP("Abort")
    .Attr("error_msg: string = ''")
    .Attr("exit_without_error: bool = false")
    .Shape(NoOutputs)
    .Cpu<Abort>()
    .Doc("Fails the step.");

}  // namespace
}  // namespace millstream
