// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_ACTIVATION_H_
#define MILLSTREAM_OPS_NN_ACTIVATION_H_

#include "millstream/ops/elements/elementwise.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {

// The kernel of an op that takes the gradient at an activation and its features (or outputs), which have one shape.
template <typename Fn, typename TypeList>
class ActivationGrad final : public BinaryKernel {
 public:
  explicit ActivationGrad(KernelInit& init)
      : BinaryKernel(elementwise::SelectBinary<Fn>(TypeList{}, init.input_types()[0])) {}

  Status Compute(KernelContext& ctx) override {
    const Shape &gradients = ctx.input(0).shape(), &features = ctx.input(1).shape();
    if (gradients == features) [[likely]]
      return BinaryKernel::Compute(ctx);
    return errors::InvalidArgument("gradients and features must have the same shape, got ", gradients.ToString(),
                                   " and ", features.ToString());
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_ACTIVATION_H_
