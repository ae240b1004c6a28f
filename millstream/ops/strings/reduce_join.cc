// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"

namespace millstream {
namespace {

// Joins along some axes; the one that is named first is innermost.
class ReduceJoin : public Kernel {
 public:
  explicit ReduceJoin(KernelInit& init)
      : keep_dims_(init.Attr<bool>("keep_dims")), separator_(init.Attr<std::string>("separator")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (ctx.input(1).rank() > 1) return errors::InvalidArgument("Reduction indices must be a scalar or a vector");
    Dims axes;
    RETURN_IF_ERROR(ReadInts(ctx.input(1), &axes));
    absl::InlinedVector<bool, 8> joined(in.rank(), false);
    for (int64_t& axis : axes) {
      if (axis < -in.rank() || axis >= in.rank()) {
        return errors::OutOfRange("Invalid reduction dimension ", axis, " for input with ", in.rank(), " dimension(s)");
      }
      if (axis < 0) axis += in.rank();
      if (joined[axis]) return errors::InvalidArgument("Duplicate reduction dimension ", axis);
      joined[axis] = true;
    }
    if (axes.empty()) {
      ctx.set_output(0, in);
      return OkStatus();
    }
    Dims strides(in.rank(), 1), dims, kept;
    for (int d = in.rank() - 2; d >= 0; --d) strides[d] = strides[d + 1] * in.dim(d + 1);
    for (int d = 0; d < in.rank(); ++d) {
      if (!joined[d]) kept.push_back(d);
      if (!joined[d] || keep_dims_) dims.push_back(joined[d] ? 1 : in.dim(d));
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::reverse(axes.begin(), axes.end());
    const Dims from = Offsets(in.shape(), strides, axes), bases = Offsets(in.shape(), strides, kept);
    for (size_t i = 0; i < bases.size(); ++i) {
      std::string& text = out->data<std::string>()[i];
      for (size_t k = 0; k < from.size(); ++k) {
        if (k > 0) text += separator_;
        text += in.data<std::string>()[bases[i] + from[k]];
      }
    }
    return OkStatus();
  }

 private:
  // The offsets of all positions along `axes`, the last of them innermost.
  static Dims Offsets(const Shape& shape, const Dims& strides, const Dims& axes) {
    Dims offsets{0};
    for (const int64_t axis : axes) {
      const int d = static_cast<int>(axis);
      Dims next;
      for (const int64_t o : offsets) {
        for (int64_t i = 0; i < shape.dim(d); ++i) next.push_back(o + i * strides[d]);
      }
      offsets.swap(next);
    }
    return offsets;
  }

  const bool keep_dims_;
  const std::string separator_;
};

// Strings of the same segment, joined in their order.
class UnsortedSegmentJoin : public Kernel {
 public:
  explicit UnsortedSegmentJoin(KernelInit& init) : separator_(init.Attr<std::string>("separator")) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &ids_tensor = ctx.input(1);
    int64_t segments = 0;
    if (ctx.input(2).rank() != 0) return errors::InvalidArgument("Number of segments expected to be a scalar");
    RETURN_IF_ERROR(ReadIntScalar(ctx.input(2), "num_segments", &segments));
    if (segments <= 0) return errors::InvalidArgument("Number of segments must be positive");
    if (ids_tensor.rank() == 0) return errors::InvalidArgument("segment_ids must not be a scalar");
    bool fits = ids_tensor.rank() <= in.rank();
    for (int d = 0; fits && d < ids_tensor.rank(); ++d) fits = ids_tensor.dim(d) == in.dim(d);
    if (!fits) {
      return errors::InvalidArgument("inputs ", in.shape().ToString(), " does not start with segment_ids ",
                                     ids_tensor.shape().ToString());
    }
    Dims ids, dims{segments};
    RETURN_IF_ERROR(ReadInts(ids_tensor, &ids));
    for (int d = ids_tensor.rank(); d < in.rank(); ++d) dims.push_back(in.dim(d));
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    for (const int64_t id : ids) {
      if (id < 0 || id >= segments) {
        return errors::InvalidArgument("segment_ids must be non-negative and less than num_segments");
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t row = shape.Product(1, shape.rank());
    std::vector<bool> begun(static_cast<size_t>(segments), false);
    for (size_t i = 0; i < ids.size(); ++i) {
      for (int64_t j = 0; j < row; ++j) {
        std::string& text = out->data<std::string>()[ids[i] * row + j];
        if (begun[ids[i]]) text += separator_;
        text += in.data<std::string>()[static_cast<int64_t>(i) * row + j];
      }
      begun[ids[i]] = true;
    }
    return OkStatus();
  }

 private:
  const std::string separator_;
};

Status SegmentJoinShape(ShapeContext& c) {
  const PartialShape &in = c.input(0), &ids = c.input(1);
  if (!ids.rank_known()) return OkStatus();
  if (!in.rank_known()) return OkStatus();
  RETURN_IF_ERROR(in.Slice(0, std::min(ids.rank(), in.rank())).MergeWith(ids).status());
  int64_t n = -1;
  c.ConstantInt(2, &n);
  c.set_output(0, PartialShape({n}).Concatenate(in.Slice(ids.rank(), in.rank())));
  return OkStatus();
}

OP("ReduceJoin")
    .Input("inputs: string")
    .Input("reduction_indices: int32")
    .Output("output: string")
    .Attr("keep_dims: bool = false")
    .Attr("separator: string = ''")
    .Shape(ReductionShape)
    .NotDifferentiable()
    .Cpu<ReduceJoin>()
    .Doc("Joins strings along axes.");

OP("UnsortedSegmentJoin")
    .Input("inputs: string")
    .Input("segment_ids: Tindices")
    .Input("num_segments: Tnumsegments")
    .Output("output: string")
    .Attr("separator: string = ''")
    .Attr("Tindices: {int32, int64}")
    .Attr("Tnumsegments: {int32, int64} = DT_INT32")
    .Shape(SegmentJoinShape)
    .Cpu<UnsortedSegmentJoin>()
    .Doc("Joins the strings of each segment.");

}  // namespace
}  // namespace millstream
