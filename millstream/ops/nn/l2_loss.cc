// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/graph/gradient.h"
#include "millstream/math/reduce.h"
#include "millstream/ops/nn/as_float.h"

namespace millstream {
namespace {

Status L2Loss(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  ASSIGN_OR_RETURN(const Tensor t, AsFloat(ctx, ctx.input(0)));
  ASSIGN_OR_RETURN(Tensor sum, FloatFor(ctx, out));
  const auto run = [&]<typename T>(std::type_identity<T>) {
    T* y = sum.data<T>();
    math::Reduce<math::reduction::SumSquares>(t.data<T>(), y, {1, t.num_elements(), 1}, ctx.pool());
    *y /= T(2);
  };
  if (t.dtype() == DType::kFloat) run(std::type_identity<float>{});
  else run(std::type_identity<double>{});
  StoreFloat(ctx, sum, out);
  return OkStatus();
}

Status L2LossGradient(GradContext& g) {
  g.set_dx(0, g.Op("Mul", {g.input(0), g.dy(0)}));
  return g.status();
}

OP("L2Loss")
    .Input("t: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(ScalarShape)
    .Gradient(L2LossGradient)
    .Cpu(L2Loss)
    .Doc("Half the sum of the squares of all elements.");

}  // namespace
}  // namespace millstream
