// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/fused/block_program.h"

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

// Block by block where that can be, one op after the other elsewhere.
class FusedElements final : public Kernel {
 public:
  explicit FusedElements(KernelInit& init) { init.Check(Init(init)); }
  Status Compute(KernelContext& ctx) override {
    if (program_ != nullptr) {
      ASSIGN_OR_RETURN(const bool done, program_->Run(ctx));
      if (done) return OkStatus();
    }
    return kernels_->Run(ctx);
  }

 private:
  Status Init(const KernelInit& init) {
    ASSIGN_OR_RETURN(body_, ReadFusedBody(init.attrs()));
    ASSIGN_OR_RETURN(kernels_, MemberKernels::Make(body_, "CPU", init));
    program_ = BlockProgram::Make(body_, *kernels_);
    return OkStatus();
  }

  FusedBody body_;
  std::unique_ptr<MemberKernels> kernels_;
  std::unique_ptr<BlockProgram> program_;  // null for what cannot run in blocks
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
