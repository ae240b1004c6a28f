// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

class FakeParamKernel final : public Kernel {
 public:
  explicit FakeParamKernel(KernelInit& init) {
    const auto declared = init.Attr<PartialShape>("shape");
    std::vector<int64_t> dims;
    if (declared.rank_known()) dims.reserve(declared.rank());
    for (int d = 0; d < declared.rank(); ++d) dims.push_back(std::max<int64_t>(declared.dim(d), 0));
    StatusOr<Shape> shape = Shape::Make(dims);
    if (shape.ok())
      shape_ = *std::move(shape);
    else
      init.Fail(shape.status());
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape_));
    FillZero(ctx, out);
    return OkStatus();
  }

 private:
  Shape shape_;
};

OP("FakeParam")
    .Output("output: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .Shape(ShapeFromAttr)
    .Cpu<FakeParamKernel>()
    .Doc("A value that nobody reads, for branches that do not compute it: sizes that are not known are zero.");

}  // namespace
}  // namespace millstream
