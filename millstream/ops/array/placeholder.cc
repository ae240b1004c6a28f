// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op_traits.h"
#include "millstream/graph/gradients/gradient.h"

namespace millstream {
namespace {

// Runs only where a value was to be fed and was not.
class PlaceholderKernel : public Kernel {
 public:
  explicit PlaceholderKernel(KernelInit& init)
      : name_(init.node_name()), dtype_(init.Attr<DType>("dtype")), shape_(init.Attr<PartialShape>("shape")) {}

  Status Compute(KernelContext&) override {
    const std::string shape = shape_.rank() > 0 ? absl::StrCat(" and shape ", shape_.ToString()) : "";
    return errors::InvalidArgument("You must feed a value for placeholder tensor '", name_, "' with dtype ",
                                   DTypeName(dtype_), shape);
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};

Status PlaceholderWithDefaultCpu(KernelContext& ctx) {
  ctx.set_output(0, ctx.TakeInput(0));
  return OkStatus();
}

// The default must fit the declared shape, but a fed value may use all of its freedom.
Status PlaceholderWithDefaultShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  RETURN_IF_ERROR(c.input(0).MergeWith(shape).status());
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status IdentityGrad(GradContext& g) {
  g.set_dx(0, g.grad(0));
  return OkStatus();
}

OP("Placeholder")
    .Trait(OpTrait::kAnyDevice)
    .Trait(KindTrait(OpKind::kPlaceholder))
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape = { unknown_rank: true }")
    .Shape(ShapeFromAttr)
    .Cpu<PlaceholderKernel>()
    .HostMemory("output")
    .Doc("A value that must be fed in each step.");

OP("PlaceholderV2")
    .Trait(KindTrait(OpKind::kPlaceholder))
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Shape(ShapeFromAttr)
    .Cpu<PlaceholderKernel>()
    .Doc("The same as Placeholder.");

OP("PlaceholderWithDefault")
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: dtype")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Shape(PlaceholderWithDefaultShape)
    .Gradient(IdentityGrad)
    .Cpu(PlaceholderWithDefaultCpu)
    .Doc("A value that may be fed; `input` where it is not.");

}  // namespace
}  // namespace millstream
