// SPDX-License-Identifier: Apache-2.0
#include "millstream/math/softmax.h"

#include "millstream/framework/op.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

template <bool log>
Status ComputeSoftmax(KernelContext& ctx) {
  const Tensor& logits = ctx.input(0);
  if (logits.rank() < 1) {
    return errors::InvalidArgument("logits must have >= 1 dimension, got ", logits.shape().ToString());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, logits.shape()));
  if (logits.num_elements() == 0) return OkStatus();
  const int64_t classes = logits.dim(logits.rank() - 1);
  const math::RowShape shape{logits.num_elements() / classes, classes};
  ASSIGN_OR_RETURN(const Tensor in, AsFloat(ctx, logits));
  ASSIGN_OR_RETURN(Tensor result, FloatFor(ctx, out));
  const auto run = [&]<typename T>(std::type_identity<T>) {
    if constexpr (log)
      math::LogSoftmax(in.data<T>(), result.data<T>(), shape, ctx.pool());
    else
      math::Softmax(in.data<T>(), result.data<T>(), shape, ctx.pool());
  };
  if (in.dtype() == DType::kFloat)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  StoreFloat(ctx, result, out);
  return OkStatus();
}

Status SoftmaxShape(ShapeContext& c) {
  PartialShape logits;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &logits));
  c.set_output(0, logits);
  return OkStatus();
}

Output SumOfRows(GradContext& g, Output x) {
  return g.Op("Sum", {x, g.scope().Const(int32_t{-1})}, {{"keep_dims", true}});
}

Status SoftmaxGradient(GradContext& g) {
  const GradMath m(g);
  const Output y = g.output(0), dy = g.dy(0);
  g.set_dx(0, m.Mul(m.Sub(dy, SumOfRows(g, m.Mul(dy, y))), y));
  return g.status();
}

Status LogSoftmaxGradient(GradContext& g) {
  const GradMath m(g);
  const Output dy = g.dy(0);
  g.set_dx(0, m.Sub(dy, m.Mul(SumOfRows(g, dy), g.Op("Exp", {g.output(0)}))));
  return g.status();
}

OP("Softmax")
    .Input("logits: T")
    .Output("softmax: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(SoftmaxShape)
    .Gradient(SoftmaxGradient)
    .Cpu(ComputeSoftmax<false>)
    .Doc("exp(logits) / sum(exp(logits)), over the last dimension.");

OP("LogSoftmax")
    .Input("logits: T")
    .Output("logsoftmax: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(SoftmaxShape)
    .Gradient(LogSoftmaxGradient)
    .Cpu(ComputeSoftmax<true>)
    .Doc("logits - log(sum(exp(logits))), over the last dimension.");

}  // namespace
}  // namespace millstream
