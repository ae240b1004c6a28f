// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/ops/elements/nd_index.h"
#include "millstream/ops/elements/segment.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {

std::vector<int64_t> ReadIds(const Tensor& ids) {
  std::vector<int64_t> out;
  DispatchOver(Types<int16_t, int32_t, int64_t>{}, ids.dtype(), [&](auto tag) {
    const auto values = ids.flat<typename decltype(tag)::type>();
    out.assign(values.begin(), values.end());
  });
  return out;
}

Status CheckSorted(std::span<const int64_t> ids, int64_t rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + 1 < ids.size() && ids[i] == ids[i + 1]) continue;
    if (i + 1 < ids.size() && ids[i] > ids[i + 1]) return errors::InvalidArgument("segment ids are not increasing");
    if (ids[i] >= 0 && ids[i] < rows) continue;
    return errors::InvalidArgument("Segment id ", ids[i], " out of range [0, ", rows,
                                   "), possibly because 'segment_ids' input is not sorted.");
  }
  return OkStatus();
}

StatusOr<int64_t> RowsOf(std::span<const int64_t> ids) {
  int64_t rows = 0;
  if (ids.empty()) return rows;
  if (ids.back() < 0) return errors::InvalidArgument("segment ids must be >= 0");
  if (__builtin_add_overflow(ids.back(), 1, &rows))
    return errors::InvalidArgument("segment ids must be < ", ids.back());
  return rows;
}

namespace {

// Rows whose ids are equal and adjacent form segments; ids grow.
template <SegmentOp op>
class SegmentKernel final : public Kernel {
 public:
  explicit SegmentKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &data = ctx.input(0), &id_tensor = ctx.input(1);
    if (data.rank() < 1) return errors::InvalidArgument("input must be at least rank 1");
    if (id_tensor.rank() != 1) return errors::InvalidArgument("segment_ids should be a vector.");
    if (id_tensor.dim(0) != data.dim(0)) {
      return errors::InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
    }
    const std::vector<int64_t> ids = ReadIds(id_tensor);
    std::vector<int64_t> dims(data.shape().dims().begin(), data.shape().dims().end());
    ASSIGN_OR_RETURN(dims[0], RowsOf(ids));
    RETURN_IF_ERROR(CheckSorted(ids, dims[0]));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    // The neutral element of a product is also the result of an empty one.
    return CombineSegments(ctx, op, data, ids, op != SegmentOp::kSum && op != SegmentOp::kProd, out);
  }
};

template <SegmentOp op>
class UnsortedSegmentKernel final : public Kernel {
 public:
  explicit UnsortedSegmentKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &data = ctx.input(0), &id_tensor = ctx.input(1), &num = ctx.input(2);
    if (num.rank() != 0) {
      return errors::InvalidArgument("num_segments should be a scalar, not shape ", num.shape().ToString());
    }
    const int64_t rows = num.dtype() == DType::kInt32 ? num.scalar<int32_t>() : num.scalar<int64_t>();
    if (rows < 0) return errors::InvalidArgument("Input num_segments == ", rows, " must not be negative.");
    const auto prefix = data.shape().dims().first(std::min(data.rank(), id_tensor.rank()));
    if (!(Shape(prefix) == id_tensor.shape())) {
      return errors::InvalidArgument("data.shape = ", data.shape().ToString(),
                                     " does not start with segment_ids.shape = ", id_tensor.shape().ToString());
    }
    const std::vector<int64_t> ids = ReadIds(id_tensor);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < rows) continue;
      return errors::InvalidArgument("segment_ids", PlaceOf(id_tensor.shape(), static_cast<int64_t>(i)), " = ", ids[i],
                                     " is out of range [0, ", rows, ")");
    }
    std::vector<int64_t> dims = {rows};
    for (int i = id_tensor.rank(); i < data.rank(); ++i) dims.push_back(data.dim(i));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return CombineSegments(ctx, op, data, ids, false, out);
  }
};

Status SegmentShape(ShapeContext& c) {
  PartialShape data, ids;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &data));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &ids));
  if (!data.rank_known()) return OkStatus();
  int64_t rows = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(data.dim(0), ids.dim(0), &rows));
  data.set_dim(0, -1);
  c.set_output(0, std::move(data));
  return OkStatus();
}

Status UnsortedSegmentShape(ShapeContext& c) {
  const PartialShape &data = c.input(0), &ids = c.input(1);
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &scalar));
  if (!data.rank_known() || !ids.rank_known()) return OkStatus();
  if (ids.rank() > data.rank()) {
    return errors::InvalidArgument("Shape must be at least rank ", ids.rank(), " but is rank ", data.rank());
  }
  RETURN_IF_ERROR(data.Slice(0, ids.rank()).MergeWith(ids).status());
  int64_t rows = -1;
  if (c.ConstantInt(2, &rows) && rows < 0) {
    return errors::InvalidArgument("Dimension size, given by scalar input 2, must be non-negative but is ", rows);
  }
  c.set_output(0, PartialShape({rows}).Concatenate(data.Slice(ids.rank(), data.rank())));
  return OkStatus();
}

Output Gather(GradContext& g, Output rows, Output ids) {
  return g.Op("GatherV2", {rows, ids, g.scope().Const(int32_t{0})});
}

// Where ids are not negative, with as many dimensions as `rows`.
Output IsSegment(GradContext& g, Output ids, Output rows) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output is_positive = g.Op("GreaterEqual", {ids, g.ConstLike(ids, 0)});
  const PartialShape a = s.ShapeOf(ids), b = s.ShapeOf(rows);
  if (a.rank_known() && a.rank() == b.rank()) return is_positive;
  const Output ids_shape = m.Shape(ids);
  const Output rank = g.Op("Pack", {g.Op("Size", {ids_shape})});
  const Output tail = g.Op("StridedSlice", {m.Shape(rows), rank, s.Constant({0}), s.Constant({1})}, {{"end_mask", 1}});
  const Output shape = g.Op("ConcatV2", {ids_shape, g.Op("OnesLike", {tail}), s.Const(int32_t{0})});
  return g.Op("Reshape", {is_positive, shape});
}

// Rows of `from` for each id; zeros for negative ids.
Output GatherOrZero(GradContext& g, Output from, Output ids) {
  const Output rows = Gather(g, from, g.Op("Maximum", {ids, g.ConstLike(ids, 0)}));
  if (!rows) return rows;
  return g.Op("SelectV2", {IsSegment(g, ids, rows), rows, g.ConstLike(rows, 0)});
}

Status SegmentSumGrad(GradContext& g) {
  g.set_dx(0, Gather(g, g.dy(0), g.input(1)));
  return g.status();
}

Status SegmentMeanGrad(GradContext& g) {
  const GradMath m(g);
  const Output dy = g.dy(0), ids = g.input(1);
  const Output count = g.Op("SegmentSum", {g.Op("OnesLike", {g.input(0)}), ids});
  g.set_dx(0, Gather(g, m.Div(dy, count), ids));
  return g.status();
}

// The elements that equal the extreme of their segment share its gradient.
Status SegmentExtremeGrad(GradContext& g) {
  const GradMath m(g);
  const Output data = g.input(0), ids = g.input(1), dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output chosen = g.Op("Equal", {data, Gather(g, g.output(0), ids)});
  const Output count = g.Op("SegmentSum", {g.Op("Cast", {chosen}, {{"DstT", dy.dtype()}}), ids});
  const Output shares = Gather(g, m.Div(dy, count), ids);
  g.set_dx(0, g.Op("SelectV2", {chosen, shares, g.ConstLike(dy, 0)}));
  return g.status();
}

// The product of the other elements of the segment: the product divided by the element, or where that is zero the
// product of all others. A second zero makes them all zero. `combine` is the op that sums segments or multiplies them.
template <typename CombineFn, typename GatherFn>
Output ProductOfOthers(GradContext& g, CombineFn combine, GatherFn gather) {
  const Output data = g.input(0);
  const Output is_zero = g.Op("Equal", {data, g.ConstLike(data, 0)});
  const Output zeros = combine("Sum", g.Op("Cast", {is_zero}, {{"DstT", DType::kInt32}}));
  const Output without_zeros = g.Op("SelectV2", {is_zero, g.ConstLike(data, 1), data});
  const Output others = gather(combine("Prod", without_zeros));
  const Output divided = g.Op("RealDiv", {gather(g.output(0)), without_zeros});
  const Output several = gather(g.Op("Greater", {zeros, g.scope().Const(int32_t{1})}));
  const Output partial = g.Op("SelectV2", {is_zero, others, divided});
  return g.Op("SelectV2", {several, g.ConstLike(data, 0), partial});
}

Status SegmentProdGrad(GradContext& g) {
  const Output ids = g.input(1);
  const auto combine = [&](const char* op, Output x) { return g.Op(absl::StrCat("Segment", op), {x, ids}); };
  const auto gather = [&](Output x) { return Gather(g, x, ids); };
  g.set_dx(0, GradMath(g).Mul(gather(g.dy(0)), ProductOfOthers(g, combine, gather)));
  return g.status();
}

Status UnsortedSegmentProdGrad(GradContext& g) {
  const Output ids = g.input(1), clipped = g.Op("Maximum", {ids, g.ConstLike(ids, 0)});
  const auto combine = [&](const char* op, Output x) {
    return g.Op(absl::StrCat("UnsortedSegment", op), {x, ids, g.input(2)});
  };
  const auto gather = [&](Output x) { return Gather(g, x, clipped); };
  g.set_dx(0, GradMath(g).Mul(GatherOrZero(g, g.dy(0), ids), ProductOfOthers(g, combine, gather)));
  return g.status();
}

Status UnsortedSegmentSumGrad(GradContext& g) {
  g.set_dx(0, GatherOrZero(g, g.dy(0), g.input(1)));
  return g.status();
}

Status UnsortedSegmentExtremeGrad(GradContext& g) {
  const GradMath m(g);
  const Output data = g.input(0), ids = g.input(1), dy = g.dy(0);
  if (!g.status().ok()) return g.status();
  const Output extremes = Gather(g, g.output(0), g.Op("Maximum", {ids, g.ConstLike(ids, 0)}));
  const Output chosen = g.Op("LogicalAnd", {g.Op("Equal", {data, extremes}), IsSegment(g, ids, data)});
  const Output count = g.Op("UnsortedSegmentSum", {g.Op("Cast", {chosen}, {{"DstT", dy.dtype()}}), ids, g.input(2)});
  g.set_dx(0, g.Op("SelectV2", {chosen, GatherOrZero(g, m.Div(dy, count), ids), g.ConstLike(dy, 0)}));
  return g.status();
}

#define SEGMENTS(Name, type)            \
  OP(Name)                              \
      .Input("data: T")                 \
      .Input("segment_ids: Tindices")   \
      .Output("output: T")              \
      .Attr(type)                       \
      .Attr("Tindices: {int32, int64}") \
      .Shape(SegmentShape)

SEGMENTS("SegmentSum", "T: numbertype")
    .Gradient(SegmentSumGrad)
    .CpuFor<SegmentKernel<SegmentOp::kSum>>(NumberTypes{})
    .Doc("Sums of the rows of each segment; ids grow.");

SEGMENTS("SegmentMean", "T: numbertype")
    .Gradient(SegmentMeanGrad)
    .CpuFor<SegmentKernel<SegmentOp::kMean>>(NumberTypes{})
    .Doc("Means of the rows of each segment; ids grow.");

SEGMENTS("SegmentProd", "T: numbertype")
    .Gradient(SegmentProdGrad)
    .CpuFor<SegmentKernel<SegmentOp::kProd>>(NumberTypes{})
    .Doc("Products of the rows of each segment; ids grow.");

SEGMENTS("SegmentMax", "T: realnumbertype")
    .Gradient(SegmentExtremeGrad)
    .CpuFor<SegmentKernel<SegmentOp::kMax>>(RealTypes{})
    .Doc("Largest values of each segment; ids grow.");

SEGMENTS("SegmentMin", "T: realnumbertype")
    .Gradient(SegmentExtremeGrad)
    .CpuFor<SegmentKernel<SegmentOp::kMin>>(RealTypes{})
    .Doc("Smallest values of each segment; ids grow.");

#undef SEGMENTS

#define UNSORTED_SEGMENTS(Name, type, index_type)      \
  OP(Name)                                             \
      .Input("data: T")                                \
      .Input("segment_ids: Tindices")                  \
      .Input("num_segments: Tnumsegments")             \
      .Output("output: T")                             \
      .Attr(type)                                      \
      .Attr(index_type)                                \
      .Attr("Tnumsegments: {int32, int64} = DT_INT32") \
      .Shape(UnsortedSegmentShape)

UNSORTED_SEGMENTS("UnsortedSegmentSum", "T: numbertype", "Tindices: {int16, int32, int64}")
    .Gradient(UnsortedSegmentSumGrad)
    .CpuFor<UnsortedSegmentKernel<SegmentOp::kSum>>(NumberTypes{})
    .HostMemory("num_segments")
    .Doc("Sums of the rows of each segment, in any order; negative ids are left out.");

UNSORTED_SEGMENTS("UnsortedSegmentProd", "T: numbertype", "Tindices: {int32, int64}")
    .Gradient(UnsortedSegmentProdGrad)
    .CpuFor<UnsortedSegmentKernel<SegmentOp::kProd>>(NumberTypes{})
    .HostMemory("num_segments")
    .Doc("Products of the rows of each segment, in any order; negative ids are left out.");

UNSORTED_SEGMENTS("UnsortedSegmentMax", "T: realnumbertype", "Tindices: {int32, int64}")
    .Gradient(UnsortedSegmentExtremeGrad)
    .CpuFor<UnsortedSegmentKernel<SegmentOp::kMax>>(RealTypes{})
    .HostMemory("num_segments")
    .Doc("Largest values of each segment, in any order; negative ids are left out.");

UNSORTED_SEGMENTS("UnsortedSegmentMin", "T: realnumbertype", "Tindices: {int32, int64}")
    .Gradient(UnsortedSegmentExtremeGrad)
    .CpuFor<UnsortedSegmentKernel<SegmentOp::kMin>>(RealTypes{})
    .HostMemory("num_segments")
    .Doc("Smallest values of each segment, in any order; negative ids are left out.");
#undef UNSORTED_SEGMENTS

}  // namespace
}  // namespace millstream
