// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/resources/variable_input.h"
#include "millstream/ops/training/sdca/shrink.h"

namespace millstream::sdca {
namespace {

class SdcaShrinkL1 final : public Kernel {
 public:
  explicit SdcaShrinkL1(KernelInit& init) : shrinkage_(init) {}

  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!ctx.ref_input(i).IsInitialized()) return UninitializedVariable(ctx, i);
    }
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      Variable& variable = ctx.ref_input(i);
      MutexLock lock(variable.mu());
      ASSIGN_OR_RETURN(Tensor * weights, variable.MutableTensor());
      float* const w = weights->data<float>();
      ctx.ParallelFor(weights->num_elements(), 0.5, [&](int64_t begin, int64_t end) {
        simd::For<float>(begin, end, [=, shrink = shrinkage_](int64_t k) { w[k] = shrink(w[k]); });
      });
    }
    return OkStatus();
  }

 private:
  const Shrinkage shrinkage_;
};

OP("SdcaShrinkL1")
    .Updates()
    .Input("weights: Ref(num_features * float)")
    .Attr("num_features: int >= 0")
    .Attr("l1: float")
    .Attr("l2: float")
    .Shape(NoOutputs)
    .NotDifferentiable()
    .Cpu<SdcaShrinkL1>()
    .Doc("Moves each weight towards zero by l1 / l2, and not beyond.");

}  // namespace
}  // namespace millstream::sdca
