// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/reduce.h"
#include "millstream/ops/elements/narrow.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

Status L2Loss(KernelContext& ctx) {
  const Tensor& t = ctx.input(0);
  const int64_t n = t.num_elements();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  const math::ReduceShape all{1, n, 1};
  if (t.dtype() == DType::kDouble) {
    double sum = 0;
    math::Reduce<math::reduction::SumSquares>(t.data<double>(), &sum, all, ctx.pool());
    out->scalar<double>() = sum / 2;
    return OkStatus();
  }
  Tensor wide = t;
  if (t.dtype() != DType::kFloat) {
    ASSIGN_OR_RETURN(wide, ctx.AllocateTemp(DType::kFloat, t.shape()));
    WidenToFloat(t.dtype(), t.raw(), wide.data<float>(), n);
  }
  float sum = 0;
  math::Reduce<math::reduction::SumSquares>(wide.data<float>(), &sum, all, ctx.pool());
  sum /= 2;
  if (t.dtype() == DType::kFloat)
    out->scalar<float>() = sum;
  else
    NarrowFromFloat(t.dtype(), &sum, out->raw(), 1);
  return OkStatus();
}

Status L2LossGrad(GradContext& g) {
  g.set_dx(0, GradMath(g).Mul(g.input(0), g.dy(0)));
  return g.status();
}

OP("L2Loss")
    .Input("t: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(ScalarShape)
    .Gradient(L2LossGrad)
    .Cpu(L2Loss)
    .Doc("Half the sum of squares of all elements.");

}  // namespace
}  // namespace millstream
