// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/cast_plan.h"
#include "millstream/ops/elements/element_kernel.h"

namespace millstream {
namespace {

class CastKernel final : public Kernel, public ElementKernel {
 public:
  explicit CastKernel(KernelInit& init)
      : plan_(CastPlan::Make(RemoveRef(init.input_types()[0]), init.output_types()[0], init.Attr<bool>("Truncate"))) {
    if (!plan_.supported()) {
      init.Fail(errors::Unimplemented("Cast ", DTypeName(init.input_types()[0]), " to ",
                                      DTypeName(init.output_types()[0]), " is not supported"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    if (plan_.identity()) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    plan_.Run(ctx, x, y);
    return OkStatus();
  }
  bool RunElements(const void* const* operands, void* result, int64_t n) const override {
    plan_.Run(operands[0], result, n);
    return true;
  }
  double ElementCost() const override { return 0.5; }

 private:
  const CastPlan plan_;
};

Status CastGrad(GradContext& g) {
  const DType from = g.input(0).dtype(), to = g.output(0).dtype();
  if ((IsFloating(from) || IsComplex(from)) && (IsFloating(to) || IsComplex(to))) {
    g.set_dx(0, g.Op("Cast", {g.dy(0)}, {{"DstT", from}}));
  }
  return g.status();
}

OP("Cast")
    .Input("x: SrcT")
    .Output("y: DstT")
    .Attr("SrcT: type")
    .Attr("DstT: type")
    .Attr("Truncate: bool = false")
    .Shape(UnchangedShape)
    .Gradient(CastGrad)
    .Cpu<CastKernel>()
    .Doc("x as elements of type DstT.");

}  // namespace
}  // namespace millstream
