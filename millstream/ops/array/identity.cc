// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

Status IdentityCpu(KernelContext& ctx) {
  ctx.set_output(0, ctx.TakeInput(0));
  return OkStatus();
}

Status IdentityNCpu(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) ctx.set_output(i, ctx.TakeInput(i));
  return OkStatus();
}

Status NoOpCpu(KernelContext&) { return OkStatus(); }

Status IdentityNShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    c.set_output(i, c.input(i));
    c.set_output_handle(i, c.input_handle_shape(i), c.input_handle_dtype(i));
  }
  return OkStatus();
}

Status IdentityGrad(GradContext& g) {
  for (int i = 0; i < g.node().num_inputs(); ++i) g.set_dx(i, g.grad(i));
  return OkStatus();
}

Status PreventGradientGrad(GradContext& g) {
  return errors::NotFound("Gradient explicitly disabled. Reason: ", g.Attr<std::string>("message"));
}

OP("_EagerConst")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Gradient(IdentityGrad)
    .Cpu(IdentityCpu)
    .Doc("Its input: what stands for a constant in functions that TensorFlow traces.");

OP("Identity")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Trait(OpTrait::kPassesInput)
    .Trait(KindTrait(OpKind::kIdentity))
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Gradient(IdentityGrad)
    .Cpu(IdentityCpu)
    .Doc("Its input.");

OP("RefIdentity")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: Ref(T)")
    .Output("output: Ref(T)")
    .Attr("T: type")
    .AllowsUninitializedInput()
    .Shape(UnchangedShape)
    .Cpu([](KernelContext& ctx) {
      ctx.set_output_ref(0, ctx.input_ref(0));
      return OkStatus();
    })
    .Doc("The same reference.");

OP("IdentityN")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: list(type) >= 1")
    .Shape(IdentityNShape)
    .Gradient(IdentityGrad)
    .Cpu(IdentityNCpu)
    .Doc("Its inputs.");

OP("Snapshot")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Trait(OpTrait::kPassesInput)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .Cpu(IdentityCpu)
    .Doc("Its input, as it is at this moment.");

OP("StopGradient")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Trait(OpTrait::kPassesInput)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu(IdentityCpu)
    .Doc("Its input, taken as a constant by gradients.");

OP("PreventGradient")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Trait(OpTrait::kPassesInput)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("message: string = ''")
    .Shape(UnchangedShape)
    .Gradient(PreventGradientGrad)
    .Cpu(IdentityCpu)
    .Doc("Its input; asking for its gradient is an error.");

OP("NoOp")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kMetadataOnly)
    .Trait(KindTrait(OpKind::kNoOp))
    .Shape(NoOutputs)
    .Cpu(NoOpCpu)
    .Doc("Does nothing; carries control dependencies.");

}  // namespace
}  // namespace millstream
