// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

template <typename T>
class BincountKernel final : public Kernel {
 public:
  explicit BincountKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &values = ctx.input(0), &size = ctx.input(1), &weights = ctx.input(2);
    if (size.rank() != 0) return errors::InvalidArgument("Shape must be rank 0 but is rank ", size.rank());
    const int64_t bins = size.scalar<int32_t>();
    if (bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
    const bool weighted = weights.num_elements() > 0;
    if (weighted && weights.num_elements() != values.num_elements()) {
      return errors::InvalidArgument("Input indices and weights must have the same size.");
    }
    const std::span<const int32_t> all = values.flat<int32_t>();
    if (std::any_of(all.begin(), all.end(), [](int32_t v) { return v < 0; })) {
      return errors::InvalidArgument("Input arr must be non-negative!");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({bins})));
    T* counts = out->data<T>();
    std::fill_n(counts, bins, T(0));
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] < bins) counts[all[i]] += weighted ? weights.data<T>()[i] : T(1);
    }
    return OkStatus();
  }
};

Status BincountShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  int64_t bins = -1;
  if (c.ConstantInt(1, &bins) && bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
  c.set_output(0, PartialShape({bins}));
  return OkStatus();
}

OP("Bincount")
    .Input("arr: int32")
    .Input("size: int32")
    .Input("weights: T")
    .Output("bins: T")
    .Attr("T: {int32, int64, float, double}")
    .Shape(BincountShape)
    .NotDifferentiable()
    .Cpu<BincountKernel>(Types<int32_t, int64_t, float, double>{})
    .Doc("How often each of 0 ... size - 1 occurs, or the sum of the weights where it does.");

}  // namespace
}  // namespace millstream
