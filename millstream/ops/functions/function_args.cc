// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"

namespace millstream {
namespace {

// Plans put arguments and results where they belong when a function is compiled, so these nodes are never run.
class OnlyInFunctions final : public Kernel {
 public:
  explicit OnlyInFunctions(KernelInit&) {}
  Status Compute(KernelContext&) override { return errors::Internal("This op runs only inside a function"); }
};

// "_output_shapes", where the caller said it, is the shape of an argument.
Status ArgShape(ShapeContext& ctx) {
  if (const AttrValue* value = ctx.attrs().Find("_output_shapes")) {
    if (const auto* shapes = value->get<AttrValue::Shapes>(); shapes != nullptr && shapes->size() == 1) {
      ctx.set_output(0, shapes->front());
    }
  }
  return OkStatus();
}

Status NoOutputs(ShapeContext&) { return OkStatus(); }

OP("_Arg")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kArg))
    .Output("output: T")
    .Attr("T: type")
    .Attr("index: int >= 0")
    .Stateful()
    .Shape(ArgShape)
    .Cpu<OnlyInFunctions>()
    .HostMemory(kAllArgs)
    .Doc("An argument of the function in whose body it stands.");

OP("_Retval")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kRetval))
    .Input("input: T")
    .Attr("T: type")
    .Attr("index: int >= 0")
    .Stateful()
    .Shape(NoOutputs)
    .Cpu<OnlyInFunctions>()
    .HostMemory(kAllArgs)
    .Doc("A result of the function in whose body it stands.");

}  // namespace
}  // namespace millstream
