// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// A vector of sizes, as a shape.
StatusOr<Shape> ReadShape(const Tensor& t) {
  std::vector<int64_t> dims;
  if (t.dtype() == DType::kInt32)
    dims.assign(t.flat<int32_t>().begin(), t.flat<int32_t>().end());
  else
    dims.assign(t.flat<int64_t>().begin(), t.flat<int64_t>().end());
  return Shape::Make(dims);
}

template <typename T>
Tensor ToVector(std::span<const int64_t> values) {
  return Tensor::Vector(std::vector<T>(values.begin(), values.end()));
}

Tensor ToVector(DType dtype, std::span<const int64_t> values) {
  return dtype == DType::kInt32 ? ToVector<int32_t>(values) : ToVector<int64_t>(values);
}

Status CheckVectors(const KernelContext& ctx) {
  for (int i = 0; i < 2; ++i) {
    if (ctx.input(i).rank() != 1) {
      return errors::InvalidArgument("In[", i, "] must be a vector.", ctx.input(i).shape().ToString());
    }
  }
  return OkStatus();
}

// The axes over which each side of a broadcast must be summed. Two equal shapes need none; otherwise dimensions that
// are 1 on both sides count for both.
Status BroadcastGradientArgs(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckVectors(ctx));
  ASSIGN_OR_RETURN(const Shape a, ReadShape(ctx.input(0)));
  ASSIGN_OR_RETURN(const Shape b, ReadShape(ctx.input(1)));
  std::vector<int64_t> axes_a, axes_b;
  if (!(a == b)) {
    const int rank = std::max(a.rank(), b.rank());
    for (int i = 0; i < rank; ++i) {
      const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
      const int64_t x = ia < 0 ? 1 : a.dim(ia), y = ib < 0 ? 1 : b.dim(ib);
      if (x != y && x != 1 && y != 1) {
        return errors::InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
      }
      if (x == 1) axes_a.push_back(i);
      if (y == 1) axes_b.push_back(i);
    }
  }
  ctx.set_output(0, ToVector(ctx.output_dtype(0), axes_a));
  ctx.set_output(1, ToVector(ctx.output_dtype(1), axes_b));
  return OkStatus();
}

Status BroadcastArgs(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckVectors(ctx));
  ASSIGN_OR_RETURN(const Shape a, ReadShape(ctx.input(0)));
  ASSIGN_OR_RETURN(const Shape b, ReadShape(ctx.input(1)));
  ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(a, b));
  ctx.set_output(0, ToVector(ctx.output_dtype(0), out.dims()));
  return OkStatus();
}

Status BroadcastTo(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  const Tensor& sizes = ctx.input(1);
  if (sizes.rank() != 1) {
    // TensorFlow takes a scalar for a vector with one size.
    if (sizes.rank() != 0) {
      return errors::InvalidArgument("shape must be a vector of {int32,int64}, got shape ", sizes.shape().ToString());
    }
  }
  ASSIGN_OR_RETURN(const Shape shape, ReadShape(sizes));
  if (in.rank() > shape.rank()) {
    return errors::InvalidArgument("Rank of input (", in.rank(), ") must be no greater than rank of output shape (",
                                   shape.rank(), ").");
  }
  if (in.shape() == shape) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  StatusOr<Shape> joint = BroadcastShapes(in.shape(), shape);
  if (!joint.ok() || !(*joint == shape)) {
    return errors::InvalidArgument("Incompatible shapes: ", in.shape().ToString(), " vs. ", shape.ToString(),
                                   "; Unable to broadcast tensor of shape ", in.shape().ToString(),
                                   " to tensor of shape ", shape.ToString());
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  const int64_t n = shape.num_elements();
  if (n == 0) return OkStatus();
  const BroadcastMap map(in.shape(), shape);
  if (!IsPlainBytes(in.dtype())) {
    DispatchObjectType(in.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < n; ++i) out->data<T>()[i] = in.data<T>()[map.Offset(i)];
    });
    return OkStatus();
  }
  const size_t size = DTypeSize(in.dtype());
  ctx.ParallelFor(
      n, 0.25,
      [&](int64_t begin, int64_t end) {
        map.Expand(in.raw(), size, begin, end - begin,
                   static_cast<char*>(out->raw()) + begin * static_cast<int64_t>(size));
      },
      64);
  return OkStatus();
}

Status GradientArgsShape(ShapeContext& c) {
  PartialShape vector;
  for (int i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &vector));
    c.set_output(i, PartialShape::UnknownOfRank(1));
  }
  return OkStatus();
}

Status ArgsShape(ShapeContext& c) {
  PartialShape a, b;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &a));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &b));
  c.set_output(0, PartialShape({a.dim(0) < 0 || b.dim(0) < 0 ? -1 : std::max(a.dim(0), b.dim(0))}));
  return OkStatus();
}

Status ToShape(ShapeContext& c) {
  PartialShape sizes;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(1), 1, &sizes));
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(1));
  const PartialShape& in = c.input(0);
  if (in.rank_known() && shape.rank_known()) {
    if (in.rank() > shape.rank()) {
      return errors::InvalidArgument("Rank of input (", in.rank(), ") must be no greater than rank of output shape (",
                                     shape.rank(), ").");
    }
    ASSIGN_OR_RETURN(const PartialShape joint, ShapeContext::Broadcast(in, shape));
    if (!joint.IsCompatibleWith(shape)) {
      return errors::InvalidArgument("Incompatible shapes: ", in.ToString(), " vs. ", shape.ToString());
    }
    shape = joint;
  }
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status BroadcastToGrad(GradContext& g) {
  const GradMath m(g);
  const Output in_shape = m.Shape(g.input(0)), dy = g.dy(0);
  const Output out_shape = m.Shape(dy);
  Node* axes = g.Add("BroadcastGradientArgs", {in_shape, out_shape});
  if (axes == nullptr) return g.status();
  const Output sum = g.Op("Sum", {dy, Output(axes, 0)}, {{"keep_dims", true}});
  g.set_dx(0, g.Op("Reshape", {sum, in_shape}));
  return g.status();
}

OP("BroadcastGradientArgs")
    .Input("s0: T")
    .Input("s1: T")
    .Output("r0: T")
    .Output("r1: T")
    .Attr("T: {int32, int64} = DT_INT32")
    .Shape(GradientArgsShape)
    .NotDifferentiable()
    .Cpu(BroadcastGradientArgs)
    .HostMemory("s0")
    .HostMemory("s1")
    .HostMemory("r0")
    .HostMemory("r1")
    .Doc("The axes over which the gradients of two broadcast operands of these shapes are summed.");

OP("BroadcastArgs")
    .Input("s0: T")
    .Input("s1: T")
    .Output("r0: T")
    .Attr("T: {int32, int64} = DT_INT32")
    .Shape(ArgsShape)
    .Cpu(BroadcastArgs)
    .HostMemory("s0")
    .HostMemory("s1")
    .HostMemory("r0")
    .Doc("The shape to which tensors of two shapes broadcast.");

OP("BroadcastTo")
    .Input("input: T")
    .Input("shape: Tidx")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(ToShape)
    .Gradient(BroadcastToGrad)
    .Cpu(BroadcastTo)
    .HostMemory("shape")
    .Doc("The input, repeated to a larger shape.");

}  // namespace
}  // namespace millstream
