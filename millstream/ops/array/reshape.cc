// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op_traits.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// The input's buffer under another shape.
Status OutputReshaped(KernelContext& ctx, const Shape& shape) {
  ctx.set_output(0, ctx.TakeInput(0).Reshaped(shape));
  return OkStatus();
}

// Replaces a -1 among `dims` by what is left of the elements of `in`. Zeros do not count where both sides have some:
// [0, 3] as [0, -1] is [0, 3].
Status CompleteDims(const Shape& in, Dims* dims) {
  int unknown = -1;
  int64_t known = 1;
  bool zero = false;
  for (size_t d = 0; d < dims->size(); ++d) {
    const int64_t size = (*dims)[d];
    if (size == -1) {
      if (unknown >= 0) return errors::InvalidArgument("Only one input size may be -1, not both ", unknown, " and ", d);
      unknown = static_cast<int>(d);
    } else if (size < 0) {
      return errors::InvalidArgument("Size ", d, " must be non-negative, not ", size);
    } else if (size == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return errors::InvalidArgument("The requested shape has too many elements");
    }
  }
  if (unknown < 0) return OkStatus();
  int64_t total = in.num_elements();
  const bool skip_zeros = zero && total == 0;
  if (skip_zeros) {
    total = 1;
    for (const int64_t size : in.dims()) {
      if (__builtin_mul_overflow(total, std::max<int64_t>(size, 1), &total)) {
        return errors::InvalidArgument("The input has too large sizes beside 0");
      }
    }
  }
  if (!skip_zeros && total % known != 0) {
    return errors::InvalidArgument("Input to reshape is a tensor with ", total,
                                   " values, but the requested shape requires a multiple of ", known);
  }
  (*dims)[unknown] = total / known;
  return OkStatus();
}

Status ReshapeCpu(KernelContext& ctx) {
  Dims dims;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "sizes input", &dims));
  if (dims.size() >= static_cast<size_t>(kMaxRank)) {
    return errors::InvalidArgument("too many dimensions: must be < ", kMaxRank, ", but received ", dims.size());
  }
  const int64_t total = ctx.input(0).num_elements();
  RETURN_IF_ERROR(CompleteDims(ctx.input(0).shape(), &dims));
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  if (shape.num_elements() != total) {
    return errors::InvalidArgument("Input to reshape is a tensor with ", total, " values, but the requested shape has ",
                                   shape.num_elements());
  }
  return OutputReshaped(ctx, shape);
}

// An input with one unknown size must be able to have as many elements as the output.
Status CheckOneUnknown(const PartialShape& in, const PartialShape& out) {
  if (!in.rank_known()) return OkStatus();
  int64_t known = 1;
  int unknowns = 0;
  for (const int64_t size : in.dims()) {
    if (size < 0) {
      ++unknowns;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return OkStatus();
    }
  }
  if (unknowns != 1 || known <= 0 || out.num_elements() % known == 0) return OkStatus();
  return errors::InvalidArgument("Cannot reshape a tensor of shape ", in.ToString(), " to shape ", out.ToString(), " (",
                                 out.num_elements(), " elements): it has a multiple of ", known);
}

Status ReshapeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.ConstantAsShape(1));
  int64_t total = c.input(0).num_elements();
  for (const int64_t size : c.input(0).dims()) total = size == 0 ? 0 : total;
  if (out.rank_known() && total >= 0) {
    int unknown = -1, unknowns = 0;
    int64_t known = 1;
    for (int d = 0; d < out.rank(); ++d) {
      if (out.dim(d) < 0)
        unknown = d, ++unknowns;
      else
        known *= out.dim(d);
    }
    if (unknowns == 0 ? known != total : unknowns == 1 && known > 0 && total % known != 0) {
      return errors::InvalidArgument("Cannot reshape a tensor with ", total, " elements to shape ", out.ToString());
    }
    if (unknowns == 1 && known > 0) out.set_dim(unknown, total / known);
  } else if (out.rank_known() && out.num_elements() >= 0) {
    RETURN_IF_ERROR(CheckOneUnknown(c.input(0), out));
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status ExpandDimsCpu(KernelContext& ctx) {
  const Shape& in = ctx.input(0).shape();
  int64_t dim = 0;
  if (ctx.input(1).num_elements() != 1) {
    return errors::InvalidArgument("'dim' must be a tensor with a single value");
  }
  RETURN_IF_ERROR(ReadIntScalar(ctx.input(1), "'dim'", &dim));
  if (dim < -1 - in.rank() || dim > in.rank()) {
    return errors::InvalidArgument("Tried to expand dim index ", dim, " for tensor with ", in.rank(), " dimensions.");
  }
  if (dim < 0) dim += in.rank() + 1;
  Dims dims(in.dims().begin(), in.dims().end());
  dims.insert(dims.begin() + dim, 1);
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  return OutputReshaped(ctx, shape);
}

Status ExpandDimsShape(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.rank_known()) return OkStatus();
  int64_t dim = 0;
  if (!c.ConstantInt(1, &dim)) {
    c.set_output(0, PartialShape::UnknownOfRank(in.rank() + 1));
    return OkStatus();
  }
  if (dim < -1 - in.rank() || dim > in.rank()) {
    return errors::InvalidArgument("dim ", dim, " not in the interval [", -1 - in.rank(), ", ", in.rank(), "].");
  }
  std::vector<int64_t> dims = in.dims();
  dims.insert(dims.begin() + (dim < 0 ? dim + in.rank() + 1 : dim), 1);
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

// What is left of `in` (sizes of -1 are unknown) without the dimensions in `axes`, or without those of size one if
// there are no axes. REQUIRES without axes: no size is -1.
template <typename Sizes>
Status SqueezedDims(std::span<const int64_t> in, const std::vector<int64_t>& axes, Sizes* out) {
  const int rank = static_cast<int>(in.size());
  for (int d = 0; d < rank; ++d) {
    bool drop = axes.empty() && in[d] == 1;
    for (const int64_t axis : axes) drop |= axis == d || axis == d - rank;
    if (drop && in[d] != 1 && in[d] != -1) {
      return errors::InvalidArgument("Can not squeeze dim[", d, "], expected a dimension of 1, got ", in[d]);
    }
    if (!drop) out->push_back(in[d]);
  }
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return errors::InvalidArgument("Tried to squeeze dim index ", axis, " for tensor with ", rank, " dimensions.");
    }
  }
  return OkStatus();
}

class SqueezeKernel : public Kernel {
 public:
  explicit SqueezeKernel(KernelInit& init) : axes_(init.Attr<std::vector<int64_t>>("squeeze_dims")) {}

  Status Compute(KernelContext& ctx) override {
    Dims dims;
    RETURN_IF_ERROR(SqueezedDims(ctx.input(0).shape().dims(), axes_, &dims));
    return OutputReshaped(ctx, Shape(std::span<const int64_t>(dims.data(), dims.size())));
  }

 private:
  const std::vector<int64_t> axes_;
};

Status SqueezeShape(ShapeContext& c) {
  std::vector<int64_t> axes, dims;
  RETURN_IF_ERROR(c.GetAttr("squeeze_dims", &axes));
  const PartialShape& in = c.input(0);
  if (!in.rank_known() || (axes.empty() && !in.IsFullyDefined())) return OkStatus();
  RETURN_IF_ERROR(SqueezedDims(in.dims(), axes, &dims));
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

class QuantizedReshape final : public Kernel {
 public:
  explicit QuantizedReshape(KernelInit&) {}
  Status Compute(KernelContext& ctx) override {
    for (const int i : {2, 3}) {
      const Shape& shape = ctx.input(i).shape();
      if (shape.rank() <= 1 && shape.num_elements() == 1) continue;
      return errors::InvalidArgument(i == 2 ? "input_min" : "input_max", " must be a scalar or a vector of 1 element");
    }
    RETURN_IF_ERROR(ReshapeCpu(ctx));
    return OutputRange(ctx, 1, ctx.input(2).data<float>()[0], ctx.input(3).data<float>()[0]);
  }
};
Status QuantizedReshapeShape(ShapeContext& c) {
  RETURN_IF_ERROR(ReshapeShape(c));
  return ScalarRanges(c, 2, 2);
}

Status ReshapeGrad(GradContext& g) {
  g.set_dx(0, g.Op("Reshape", {g.dy(0), ShapeOf(g, g.input(0))}));
  return OkStatus();
}

class EnsureShapeKernel : public Kernel {
 public:
  explicit EnsureShapeKernel(KernelInit& init) : shape_(init.Attr<PartialShape>("shape")) {}

  Status Compute(KernelContext& ctx) override {
    const Shape& in = ctx.input(0).shape();
    bool fits = !shape_.rank_known() || shape_.rank() == in.rank();
    for (int d = 0; fits && d < shape_.rank(); ++d) fits = shape_.dim(d) < 0 || shape_.dim(d) == in.dim(d);
    if (!fits) {
      return errors::InvalidArgument("Shape of tensor ", ctx.node_name(), " ", in.ToString(),
                                     " is not compatible with expected shape ", shape_.ToString(), ".");
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }

 private:
  const PartialShape shape_;
};

Status EnsureShapeShape(ShapeContext& c) {
  PartialShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  ASSIGN_OR_RETURN(PartialShape out, c.input(0).MergeWith(shape));
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status EnsureShapeGrad(GradContext& g) {
  g.set_dx(0, g.grad(0));
  return OkStatus();
}

OP("Reshape")
    .Trait(OpTrait::kMetadataOnly)
    .Input("tensor: T")
    .Input("shape: Tshape")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .Shape(ReshapeShape)
    .Gradient(ReshapeGrad)
    .Cpu(ReshapeCpu)
    .HostMemory("shape")
    .Doc("The same elements in another shape; one size may be -1.");

OP("QuantizedReshape")
    .Input("tensor: T")
    .Input("shape: Tshape")
    .Input("input_min: float")
    .Input("input_max: float")
    .Output("output: T")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("T: type")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .Shape(QuantizedReshapeShape)
    .NotDifferentiable()
    .CpuFor<QuantizedReshape>(Types<Quint8, Qint32>{})
    .HostMemory("shape")
    .Doc("The same quantized elements in another shape.");

OP("ExpandDims")
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Input("dim: Tdim")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tdim: {int32, int64} = DT_INT32")
    .Shape(ExpandDimsShape)
    .Gradient(ReshapeGrad)
    .Cpu(ExpandDimsCpu)
    .HostMemory("dim")
    .Doc("Inserts a dimension of size one.");

OP("Squeeze")
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("squeeze_dims: list(int) >= 0 = []")
    .Shape(SqueezeShape)
    .Gradient(ReshapeGrad)
    .Cpu<SqueezeKernel>()
    .Doc("Removes dimensions of size one: all, or those named.");

OP("EnsureShape")
    .Trait(OpTrait::kMetadataOnly)
    .Input("input: T")
    .Output("output: T")
    .Attr("shape: shape")
    .Attr("T: type")
    .Shape(EnsureShapeShape)
    .Gradient(EnsureShapeGrad)
    .Cpu<EnsureShapeKernel>()
    .Doc("Its input, if its shape fits; an error otherwise.");

}  // namespace
}  // namespace millstream
