// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/fused/member_kernels.h"

namespace millstream {
namespace {

Status FusedElementsShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const FusedBody body, ReadFusedBody(c.attrs()));
  std::vector<PartialShape> args;
  for (int i = 0; i < c.num_inputs(); ++i) args.push_back(c.input(i));
  if (args.size() != body.args.size()) return errors::InvalidArgument("a fused node has other inputs than its body");
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes, FusedShapes(body, args));
  for (size_t i = 0; i < shapes.size(); ++i) c.set_output(static_cast<int>(i), shapes[i]);
  return OkStatus();
}

// One op after the other: on the CPU groups are not formed, and this is what the shadow device runs.
class FusedElements final : public Kernel {
 public:
  explicit FusedElements(KernelInit& init) { init.Check(Init(init)); }
  Status Compute(KernelContext& ctx) override { return kernels_->Run(ctx); }

 private:
  Status Init(const KernelInit& init) {
    ASSIGN_OR_RETURN(body_, ReadFusedBody(init.attrs()));
    ASSIGN_OR_RETURN(kernels_, MemberKernels::Make(body_, "CPU", init));
    return OkStatus();
  }

  FusedBody body_;
  std::unique_ptr<MemberKernels> kernels_;
};

OP("_FusedElements")
    .Input("args: TArgs")
    .Output("results: TResults")
    .Attr("TArgs: list(type) >= 0")
    .Attr("TResults: list(type) >= 1")
    .Attr("body: string")
    .Attr("results_of: list(string)")
    .Shape(FusedElementsShape)
    .NotDifferentiable()
    .Cpu<FusedElements>()
    .Doc(
        "Ops on elements that graph passes put together for a device; `body` is a GraphDef with placeholders a0, a1, "
        "...");

}  // namespace
}  // namespace millstream
