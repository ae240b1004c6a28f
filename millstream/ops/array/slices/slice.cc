// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/parts.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/strided_copy.h"
#include "millstream/ops/gradients/shape_of.h"

namespace millstream {
namespace {

Status SliceCpu(KernelContext& ctx) {
  Dims begin, size;
  RETURN_IF_ERROR(ReadSliceRange(ctx, &begin, &size));
  ASSIGN_OR_RETURN(const Shape shape, MakeShape(size));
  const Tensor& in = ctx.input(0);
  if (shape == in.shape()) {
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  const int rank = in.rank();
  if (rank > 0 && shape.num_elements() > 0 && shape.Product(1, rank) == in.shape().Product(1, rank)) {
    Tensor view = SharedRows(in, begin[0], begin[0] + size[0]);
    if (view.IsInitialized()) {
      ctx.set_output(0, std::move(view));
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return OkStatus();
  StridedCopy copy;
  int64_t offset = 0, from_step = in.num_elements(), to_step = shape.num_elements();
  for (int d = 0; d < rank; ++d) {
    from_step /= in.dim(d);
    to_step /= shape.dim(d);
    offset += begin[d] * from_step;
    copy.Add(shape.dim(d), from_step, to_step);
  }
  copy.Run(ctx, in.dtype(), ElementAt(in, offset), out->raw());
  return OkStatus();
}

Status SliceShape(ShapeContext& c) {
  PartialShape in = c.input(0), begin, size;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &begin));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &size));
  ASSIGN_OR_RETURN(PartialShape length, begin.MergeWith(size));
  std::vector<int64_t> begins, sizes;
  const bool begins_known = c.ConstantInts(1, &begins);
  const bool sizes_known = c.ConstantInts(2, &sizes);
  if (begins_known) length.set_dim(0, static_cast<int64_t>(begins.size()));
  if (in.rank_known()) {
    ASSIGN_OR_RETURN(length, length.MergeWith(PartialShape({in.rank()})));
  } else if (length.dim(0) >= 0 && length.dim(0) <= kMaxRank) {
    in = PartialShape::UnknownOfRank(static_cast<int>(length.dim(0)));
  } else {
    return OkStatus();
  }
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  if (!sizes_known) {
    // Sizes made from other shapes are known in part; -1 stays unknown.
    ASSIGN_OR_RETURN(const PartialShape partial, c.ConstantAsShape(2));
    if (partial.rank_known()) {
      ASSIGN_OR_RETURN(out, out.MergeWith(partial));
    }
  } else {
    for (int d = 0; d < in.rank() && d < static_cast<int>(sizes.size()); ++d) {
      if (sizes[d] < -1) return errors::InvalidArgument("Expected size[", d, "] >= -1, but got ", sizes[d]);
      if (sizes[d] >= 0)
        out.set_dim(d, sizes[d]);
      else if (begins_known && in.dim(d) >= 0)
        out.set_dim(d, in.dim(d) - begins[d]);
    }
  }
  for (int d = 0; d < in.rank(); ++d) {
    const int64_t b = begins_known ? begins[d] : 0;
    if (b < 0 || (in.dim(d) >= 0 && (out.dim(d) > in.dim(d) - b || b > in.dim(d)))) {
      return errors::InvalidArgument("Slice of dimension ", d, " (begin ", b, ", size ", out.dim(d),
                                     ") is outside of a tensor of shape ", in.ToString());
    }
  }
  c.set_output(0, std::move(out));
  return OkStatus();
}

// Zeros around dy, so that it lies where it was cut out.
Status SliceGrad(GradContext& g) {
  const DType index = g.input(1).dtype();
  const Output begin = g.input(1);
  const Output shape = ShapeOf(g, g.input(0), index);
  const Output size = ShapeOf(g, g.output(0), index);
  const Output after = g.Op("Sub", {g.Op("Sub", {shape, size}), begin});
  g.set_dx(0, g.Op("Pad", {g.dy(0), g.Op("Pack", {begin, after}, {{"axis", 1}})}));
  return OkStatus();
}

OP("Slice")
    .Input("input: T")
    .Input("begin: Index")
    .Input("size: Index")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Index: {int32, int64}")
    .Shape(SliceShape)
    .Gradient(SliceGrad)
    .Cpu(SliceCpu)
    .HostMemory("begin")
    .HostMemory("size")
    .Doc("A box cut out of a tensor; a size of -1 reaches to the end.");

}  // namespace
}  // namespace millstream
