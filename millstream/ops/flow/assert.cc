// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/framework/op_traits.h"
#include "millstream/ops/flow/summary.h"

namespace millstream {
namespace {

class Assert final : public Kernel {
 public:
  explicit Assert(KernelInit& init) : summarize_(init.Attr<int>("summarize")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (condition.rank() != 0) {
      return errors::InvalidArgument("In[0] should be a scalar: ", condition.shape().ToString());
    }
    if (condition.scalar<bool>()) return OkStatus();
    std::string message = "assertion failed:";
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      absl::StrAppend(&message, " [", SummarizeForPrint(ctx.input(i), summarize_), "]");
    }
    return errors::InvalidArgument(message);
  }

 private:
  const int summarize_;
};

OP("Assert")
    .Trait(OpTrait::kAnyDevice)
    .Trait(OpTrait::kEffectsOnly)
    .Input("condition: bool")
    .Input("data: T")
    .Attr("T: list(type) >= 1")
    .Attr("summarize: int = 3")
    .Stateful()
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu<Assert>()
    .HostMemory(kAllArgs)
    .Doc("InvalidArgument, showing the data, unless the condition holds.");

}  // namespace
}  // namespace millstream
