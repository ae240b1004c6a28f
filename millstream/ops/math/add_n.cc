// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/add_loop.h"
#include "millstream/ops/variants/variant_math.h"

namespace millstream {
namespace {

constexpr int64_t kBlock = 2048;  // the sum stays in the first-level cache while the inputs pass by

class AddNKernel final : public Kernel, public ElementKernel {
 public:
  explicit AddNKernel(KernelInit& init) : add_(AddLoop(RemoveRef(init.input_types()[0]))) {}
  bool RunElements(const void* const* operands, void* result, int64_t n) const override {
    return elementwise::Run(add_, operands[0], operands[1], result, n);
  }
  double ElementCost() const override { return add_.cost; }

  Status Compute(KernelContext& ctx) override {
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const Tensor& first = ctx.input(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (!(ctx.input(i).shape() == first.shape())) {
        return errors::InvalidArgument("Inputs to operation ", ctx.node_name(), " of type ", ctx.op().name,
                                       " must have the same size and shape.  Input 0: ", first.shape().ToString(),
                                       " != input ", i, ": ", ctx.input(i).shape().ToString());
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0, 1}, 0, first.shape()));
    char* sum = static_cast<char*>(out->raw());
    ParallelElements(ctx, first.num_elements(), 0.15 * ctx.num_inputs(), [&](int64_t begin, int64_t end) {
      for (int64_t n = 0; begin < end; begin += n) {
        n = NextStretch(end - begin, std::min(kBlock, end - begin));
        AddBlock(ctx, sum, begin, n);
      }
    });
    return OkStatus();
  }

 private:
  void AddBlock(const KernelContext& ctx, char* sum, int64_t begin, int64_t n) const {
    const int64_t at = begin * add_.in_size;
    const auto data = [&](int i) { return static_cast<const char*>(ctx.input(i).raw()) + at; };
    elementwise::Run(add_, data(0), data(1), sum + at, n);
    for (int i = 2; i < ctx.num_inputs(); ++i) elementwise::Run(add_, sum + at, data(i), sum + at, n);
  }

  const elementwise::LoopInfo<elementwise::BinaryLoop> add_;
};

// Lists of tensors, in the gradients of loops.
class AddNVariants final : public Kernel {
 public:
  explicit AddNVariants(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    Tensor sum = ctx.input(0);
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      const Tensor& t = ctx.input(i);
      if (sum.rank() != 0 || t.rank() != 0)
        return errors::InvalidArgument("AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported");
      ASSIGN_OR_RETURN(Variant both, AddVariants(sum.scalar<Variant>(), t.scalar<Variant>()));
      sum = Tensor::Scalar(both);
    }
    ctx.set_output(0, std::move(sum));
    return OkStatus();
  }
};

Status AddNShape(ShapeContext& c) {
  PartialShape shape = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    StatusOr<PartialShape> merged = shape.MergeWith(c.input(i));
    if (!merged.ok()) return WithContext(merged.status(), absl::StrCat("From merging shape ", i, " with other shapes"));
    shape = *std::move(merged);
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status AddNGrad(GradContext& g) {
  for (int i = 0; i < g.node().num_inputs(); ++i) g.set_dx(i, g.grad(0));
  return g.status();
}

OP("AddN")
    .Input("inputs: N * T")
    .Output("sum: T")
    .Attr("N: int >= 1")
    .Attr(
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
        "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, variant}")
    .Commutative()
    .Aggregate()
    .Shape(AddNShape)
    .Gradient(AddNGrad)
    .CpuFor<AddNKernel>(NumberTypes{})
    .CpuFor<AddNVariants>(Types<Variant>{})
    .Doc("The sum of all inputs, which have one shape.");

OP("AccumulateNV2")
    .Input("inputs: N * T")
    .Output("sum: T")
    .Attr("N: int >= 1")
    .Attr("T: numbertype")
    .Attr("shape: shape")
    .Commutative()
    .Aggregate()
    .Shape(ShapeFromAttr)
    .Gradient(AddNGrad)
    .CpuFor<AddNKernel>(NumberTypes{})
    .Doc("The sum of all inputs, which have the given shape.");

}  // namespace
}  // namespace millstream
