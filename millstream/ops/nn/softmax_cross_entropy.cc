// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/math/softmax.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

// `t` repeated up to `shape`; itself if it has that shape.
StatusOr<Tensor> Broadcast(KernelContext& ctx, const Tensor& t, const Shape& shape) {
  if (t.shape() == shape) return t;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(t.dtype(), shape));
  BroadcastMap(t.shape(), shape).Expand(t.raw(), DTypeSize(t.dtype()), 0, shape.num_elements(), wide.raw());
  return wide;
}

void ZeroBytes(Tensor* t) { std::fill_n(static_cast<char*>(t->raw()), t->ByteSize(), 0); }

Status CrossEntropy(KernelContext& ctx) {
  const Tensor &features = ctx.input(0), &labels = ctx.input(1);
  const StatusOr<Shape> shape = BroadcastShapes(features.shape(), labels.shape());
  if (!shape.ok()) {
    return errors::InvalidArgument("logits and labels must be broadcastable: logits_size=", features.shape().ToString(),
                                   " labels_size=", labels.shape().ToString());
  }
  if (shape->rank() != 2) {
    return errors::InvalidArgument(
        "logits and labels must be either 2-dimensional, or broadcasted to be "
        "2-dimensional, got ",
        shape->ToString());
  }
  ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, Shape({shape->dim(0)})));
  ASSIGN_OR_RETURN(Tensor * backprop, ctx.ForwardOrAllocate({0}, 1, *shape));
  if (shape->num_elements() == 0) return ZeroBytes(loss), OkStatus();
  ASSIGN_OR_RETURN(Tensor x, AsFloat(ctx, features));
  ASSIGN_OR_RETURN(x, Broadcast(ctx, x, *shape));
  ASSIGN_OR_RETURN(Tensor y, AsFloat(ctx, labels));
  ASSIGN_OR_RETURN(y, Broadcast(ctx, y, *shape));
  ASSIGN_OR_RETURN(Tensor l, FloatFor(ctx, loss));
  ASSIGN_OR_RETURN(Tensor b, FloatFor(ctx, backprop));
  const math::RowShape rows{shape->dim(0), shape->dim(1)};
  const auto run = [&]<typename T>(std::type_identity<T>) {
    math::SoftmaxCrossEntropy(x.data<T>(), y.data<T>(), l.data<T>(), b.data<T>(), rows, ctx.pool());
  };
  if (x.dtype() == DType::kFloat)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  StoreFloat(ctx, l, loss);
  StoreFloat(ctx, b, backprop);
  return OkStatus();
}

Status CheckSparse(const Tensor& features, const Tensor& labels) {
  if (features.rank() != 2) {
    return errors::InvalidArgument("logits must be 2-D, but got shape ", features.shape().ToString());
  }
  if (labels.rank() != 1) {
    return errors::InvalidArgument("labels must be 1-D, but got shape ", labels.shape().ToString());
  }
  if (features.dim(0) != labels.dim(0)) {
    return errors::InvalidArgument("logits and labels must have the same first dimension, got logits shape ",
                                   features.shape().ToString(), " and labels shape ", labels.shape().ToString());
  }
  if (features.dim(1) < 1) {
    return errors::InvalidArgument("Must have at least one class, but got logits shape ", features.shape().ToString());
  }
  return OkStatus();
}

template <typename Label>
Status SparseCrossEntropy(KernelContext& ctx) {
  const Tensor &features = ctx.input(0), &labels = ctx.input(1);
  RETURN_IF_ERROR(CheckSparse(features, labels));
  const int64_t classes = features.dim(1);
  for (const Label label : labels.flat<Label>()) {
    if (label >= 0 && label < classes) continue;
    return errors::InvalidArgument("Received a label value of ", label, " which is outside the valid range of [0, ",
                                   classes, ").  Label values: ", labels.SummarizeValue());
  }
  ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, labels.shape()));
  ASSIGN_OR_RETURN(Tensor * backprop, ctx.ForwardOrAllocate({0}, 1, features.shape()));
  if (features.num_elements() == 0) return OkStatus();
  ASSIGN_OR_RETURN(const Tensor x, AsFloat(ctx, features));
  ASSIGN_OR_RETURN(Tensor l, FloatFor(ctx, loss));
  ASSIGN_OR_RETURN(Tensor b, FloatFor(ctx, backprop));
  const math::RowShape rows{features.dim(0), classes};
  const auto run = [&]<typename T>(std::type_identity<T>) {
    math::SparseSoftmaxCrossEntropy(x.data<T>(), labels.data<Label>(), l.data<T>(), b.data<T>(), rows, ctx.pool());
  };
  if (x.dtype() == DType::kFloat)
    run(std::type_identity<float>{});
  else
    run(std::type_identity<double>{});
  StoreFloat(ctx, l, loss);
  StoreFloat(ctx, b, backprop);
  return OkStatus();
}

Status ComputeSparse(KernelContext& ctx) {
  return ctx.input_dtype(1) == DType::kInt32 ? SparseCrossEntropy<int32_t>(ctx) : SparseCrossEntropy<int64_t>(ctx);
}

Status CrossEntropyShape(ShapeContext& c) {
  PartialShape both;
  StatusOr<PartialShape> merged = both;
  if (ShapeContext::WithRank(c.input(0), 2, &both).ok() && (merged = both.MergeWith(c.input(1))).ok()) {
    both = *merged;
  } else {
    ASSIGN_OR_RETURN(both, ShapeContext::Broadcast(c.input(0), c.input(1)));
  }
  if (both.rank() != 2) {
    return errors::InvalidArgument("Shape must be broadcasted with rank 2, but is ", both.ToString());
  }
  c.set_output(0, PartialShape({both.dim(0)}));
  c.set_output(1, both);
  return OkStatus();
}

Status SparseCrossEntropyShape(ShapeContext& c) {
  PartialShape features, labels;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &features));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &labels));
  int64_t batch = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(features.dim(0), labels.dim(0), &batch));
  features.set_dim(0, batch);
  c.set_output(0, PartialShape({batch}));
  c.set_output(1, features);
  return OkStatus();
}

Output ByRow(GradContext& g, Output rows, Output matrix) {
  return g.Op("Mul", {g.Op("ExpandDims", {rows, g.scope().Const(int32_t{-1})}), matrix});
}

// The gradient of the features: that of the loss, and that of the backprop (a second derivative) where there is one.
Output FeaturesGrad(GradContext& g) {
  const GradMath m(g);
  const Output of_loss = ByRow(g, g.dy(0), g.output(1));
  if (!g.has_dy(1)) return of_loss;
  const Output softmax = g.Op("Softmax", {g.input(0)}), dy = g.dy(1);
  const Output sums = g.Op("Sum", {m.Mul(dy, softmax), g.scope().Const(int32_t{-1})}, {{"keep_dims", true}});
  return m.Add(of_loss, m.Mul(m.Sub(dy, sums), softmax));
}

Status CrossEntropyGradient(GradContext& g) {
  const GradMath m(g);
  g.set_dx(0, FeaturesGrad(g));
  g.set_dx(1, ByRow(g, g.dy(0), m.Neg(g.Op("LogSoftmax", {g.input(0)}))));
  return g.status();
}

Status SparseCrossEntropyGradient(GradContext& g) {
  g.set_dx(0, FeaturesGrad(g));
  return g.status();
}

OP("SoftmaxCrossEntropyWithLogits")
    .Input("features: T")
    .Input("labels: T")
    .Output("loss: T")
    .Output("backprop: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Shape(CrossEntropyShape)
    .Gradient(CrossEntropyGradient)
    .Cpu(CrossEntropy)
    .Doc("The cross entropy of each row of probabilities `labels` and softmax(features), and its gradient.");

OP("SparseSoftmaxCrossEntropyWithLogits")
    .Input("features: T")
    .Input("labels: Tlabels")
    .Output("loss: T")
    .Output("backprop: T")
    .Attr("T: {half, bfloat16, float, double}")
    .Attr("Tlabels: {int32, int64} = DT_INT64")
    .Shape(SparseCrossEntropyShape)
    .Gradient(SparseCrossEntropyGradient)
    .Cpu(ComputeSparse)
    .Doc("The cross entropy of each row of softmax(features) and its class number in `labels`, and its gradient.");

}  // namespace
}  // namespace millstream
