// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/segment.h"
#include "millstream/ops/gradients/gradients.h"

namespace millstream {
namespace {

enum class Norm { kSum, kMean, kSqrtN };

double Scale(Norm norm, int64_t count) {
  if (norm == Norm::kSum || count == 0) return 1;
  return norm == Norm::kMean ? 1.0 / static_cast<double>(count) : 1.0 / std::sqrt(static_cast<double>(count));
}

// indices and segment_ids: vectors of the same length.
Status ReadPairs(const KernelContext& ctx, Dims* indices, Dims* ids) {
  if (ctx.input(1).rank() != 1) return errors::InvalidArgument("indices should be a vector.");
  if (ctx.input(2).rank() != 1) return errors::InvalidArgument("segment_ids should be a vector.");
  if (ctx.input(1).num_elements() != ctx.input(2).num_elements()) {
    return errors::InvalidArgument("segment_ids and indices should have same size.");
  }
  RETURN_IF_ERROR(ReadInts(ctx.input(1), indices));
  return ReadInts(ctx.input(2), ids);
}

// Rows of data that indices name, combined by segments.
template <typename T, Norm norm>
class SparseSegment : public Kernel {
 public:
  explicit SparseSegment(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    if (data.rank() < 1) return errors::InvalidArgument("input must be at least rank 1");
    Dims indices, ids, dims(data.shape().dims().begin(), data.shape().dims().end());
    RETURN_IF_ERROR(ReadPairs(ctx, &indices, &ids));
    if (ctx.num_inputs() == 3) {
      ASSIGN_OR_RETURN(dims[0], RowsOf(ids));
    } else {
      int64_t segments = 0;
      if (ctx.input(3).rank() != 0) return errors::InvalidArgument("num_segments should be a scalar");
      RETURN_IF_ERROR(ReadIntScalar(ctx.input(3), "num_segments", &segments));
      if (segments < 0) return errors::InvalidArgument("segment ids must be >= 0");
      if (!ids.empty() && ids.back() >= segments) {
        return errors::InvalidArgument("segment ids must be < num_segments");
      }
      dims[0] = segments;
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    RETURN_IF_ERROR(CheckSorted(ids, dims[0]));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (indices[i] >= 0 && indices[i] < data.dim(0)) continue;
      return errors::InvalidArgument("Bad: indices[", i, "] == ", indices[i], " out of range [0, ", data.dim(0), ")");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillZero(ctx, out);
    const int64_t row = shape.Product(1, shape.rank());
    using W = std::conditional_t<std::is_integral_v<T>, uint64_t, millstream::Compute<T>>;
    std::vector<W> sum(static_cast<size_t>(row));
    for (size_t begin = 0; begin < ids.size();) {
      size_t end = begin;
      std::fill(sum.begin(), sum.end(), W());
      for (; end < ids.size() && ids[end] == ids[begin]; ++end) {
        const T* from = data.data<T>() + indices[end] * row;
        for (int64_t k = 0; k < row; ++k) sum[k] += static_cast<W>(from[k]);
      }
      T* to = out->data<T>() + ids[begin] * row;
      const auto scale = static_cast<W>(Scale(norm, static_cast<int64_t>(end - begin)));
      for (int64_t k = 0; k < row; ++k) to[k] = static_cast<T>(norm == Norm::kSum ? sum[k] : sum[k] * scale);
      begin = end;
    }
    return OkStatus();
  }
};
template <typename T>
using SumKernel = SparseSegment<T, Norm::kSum>;
template <typename T>
using MeanKernel = SparseSegment<T, Norm::kMean>;
template <typename T>
using SqrtNKernel = SparseSegment<T, Norm::kSqrtN>;

// The gradient of the rows: of all of them, or (V2) of those that are named, with their numbers.
template <typename T, Norm norm>
class SparseSegmentGrad : public Kernel {
 public:
  explicit SparseSegmentGrad(KernelInit& init) : named_(init.output_types().size() == 2) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& dy = ctx.input(0);
    if (dy.rank() < 1) return errors::InvalidArgument("grad must be at least rank 1");
    Dims indices, ids, dims(dy.shape().dims().begin(), dy.shape().dims().end());
    RETURN_IF_ERROR(ReadPairs(ctx, &indices, &ids));
    if (ctx.input(3).rank() != 0) return errors::InvalidArgument("output_dim0 should be a scalar.");
    const int64_t rows = ctx.input(3).template scalar<int32_t>(), segments = dy.dim(0);
    if (rows < 0) return errors::InvalidArgument("output_dim0 must not be negative");
    if (!ids.empty() && ids.back() >= segments) return errors::InvalidArgument("Invalid number of segments");
    std::vector<int64_t> counts(static_cast<size_t>(segments), 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= segments) {
        return errors::InvalidArgument("Segment id ", ids[i], " out of range [0, ", segments, ").");
      }
      if (indices[i] < 0 || indices[i] >= rows) {
        return errors::InvalidArgument("Index ", indices[i], " out of range [0, ", rows, ").");
      }
      ++counts[ids[i]];
    }
    std::vector<int64_t> names(indices.begin(), indices.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    dims[0] = named_ ? static_cast<int64_t>(names.size()) : rows;
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t row = shape.Product(1, shape.rank());
    using W = millstream::Compute<T>;
    std::vector<W> sums(static_cast<size_t>(shape.num_elements()), W());
    for (size_t i = 0; i < ids.size(); ++i) {
      const T* from = dy.data<T>() + ids[i] * row;
      const int64_t at = named_ ? std::lower_bound(names.begin(), names.end(), indices[i]) - names.begin() : indices[i];
      const auto scale = static_cast<W>(Scale(norm, counts[ids[i]]));
      for (int64_t k = 0; k < row; ++k) sums[at * row + k] += static_cast<W>(from[k]) * scale;
    }
    std::copy(sums.begin(), sums.end(), out->data<T>());
    if (!named_) return OkStatus();
    ASSIGN_OR_RETURN(Tensor * list, ctx.AllocateOutput(1, Shape({dims[0]})));
    DispatchOver(IndexTypes{}, list->dtype(), [&](auto type) {
      std::copy(names.begin(), names.end(), list->data<typename decltype(type)::type>());
    });
    return OkStatus();
  }

 private:
  const bool named_;
};
template <typename T>
using SumGradKernel = SparseSegmentGrad<T, Norm::kSum>;
template <typename T>
using MeanGradKernel = SparseSegmentGrad<T, Norm::kMean>;
template <typename T>
using SqrtNGradKernel = SparseSegmentGrad<T, Norm::kSqrtN>;

Status CheckVectors(ShapeContext& c, PartialShape* data) {
  PartialShape indices, ids;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, data));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &ids));
  return indices.MergeWith(ids).status();
}
Status SegmentShape(ShapeContext& c, int64_t rows) {
  PartialShape data;
  RETURN_IF_ERROR(CheckVectors(c, &data));
  if (data.rank_known()) c.set_output(0, PartialShape({rows}).Concatenate(data.Slice(1, data.rank())));
  return OkStatus();
}
Status GrowingShape(ShapeContext& c) { return SegmentShape(c, -1); }
Status GivenShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 0, &scalar));
  int64_t rows = -1;
  if (c.ConstantInt(3, &rows) && rows < 0) return errors::InvalidArgument("Cannot specify a negative value");
  return SegmentShape(c, rows);
}
Status NamedShape(ShapeContext& c) {
  c.set_output(1, PartialShape({-1}));
  return SegmentShape(c, -1);
}

Status SegmentGrad(GradContext& g, const char* name) {
  const Scope& s = g.scope();
  const Output shape = g.Op("Shape", {g.input(0)});
  const Output rows =
      g.Op("StridedSlice", {shape, s.Constant({0}), s.Constant({1}), s.Constant({1})}, {{"shrink_axis_mask", 1}});
  const std::string op = absl::StrCat("SparseSegment", name, "Grad");
  if (!g.Attr<bool>("sparse_gradient")) {
    g.set_dx(0, g.Op(op, {g.dy(0), g.input(1), g.input(2), rows}));
    return g.status();
  }
  Node* node = g.Add(op + "V2", {g.dy(0), g.input(1), g.input(2), rows});
  if (node != nullptr) g.set_dx(0, Grad::Slices(Output(node, 0), Output(node, 1), shape));
  return g.status();
}
Status SumGrad(GradContext& g) { return SegmentGrad(g, "Sum"); }
Status MeanGrad(GradContext& g) { return SegmentGrad(g, "Mean"); }
Status SqrtNGrad(GradContext& g) { return SegmentGrad(g, "SqrtN"); }

void IndexTypeAttr(OpBuilder& op) { op.Attr("Tidx: {int32, int64} = DT_INT32"); }
void IdTypeAttr(OpBuilder& op) { op.Attr("Tsegmentids: {int32, int64} = DT_INT32"); }
#define SPARSE_SEGMENT(Name, type, types, doc)                                       \
  OP("SparseSegment" #Name)                                                          \
      .Input("data: T")                                                              \
      .Input("indices: Tidx")                                                        \
      .Input("segment_ids: Tsegmentids")                                             \
      .Output("output: T")                                                           \
      .Attr("T: " type)                                                              \
      .With(IndexTypeAttr)                                                           \
      .With(IdTypeAttr)                                                              \
      .Attr("sparse_gradient: bool = false")                                         \
      .Shape(GrowingShape)                                                           \
      .Gradient(Name##Grad)                                                          \
      .Cpu<Name##Kernel>(types{})                                                    \
      .Doc(doc " of rows that are named by number, by segments.");                   \
  OP("SparseSegment" #Name "WithNumSegments")                                        \
      .Input("data: T")                                                              \
      .Input("indices: Tidx")                                                        \
      .Input("segment_ids: Tsegmentids")                                             \
      .Input("num_segments: Tnumsegments")                                           \
      .Output("output: T")                                                           \
      .Attr("T: " type)                                                              \
      .With(IndexTypeAttr)                                                           \
      .Attr("Tnumsegments: {int32, int64} = DT_INT32")                               \
      .With(IdTypeAttr)                                                              \
      .Attr("sparse_gradient: bool = false")                                         \
      .Shape(GivenShape)                                                             \
      .Gradient(Name##Grad)                                                          \
      .Cpu<Name##Kernel>(types{})                                                    \
      .Doc(doc " of rows that are named by number, by a given number of segments."); \
  OP("SparseSegment" #Name "Grad")                                                   \
      .Input("grad: T")                                                              \
      .Input("indices: Tidx")                                                        \
      .Input("segment_ids: Tsegmentids")                                             \
      .Input("output_dim0: int32")                                                   \
      .Output("output: T")                                                           \
      .Attr("T: {bfloat16, half, float, double}")                                    \
      .With(IndexTypeAttr)                                                           \
      .With(IdTypeAttr)                                                              \
      .Shape(GivenShape)                                                             \
      .Cpu<Name##GradKernel>(FloatTypes{})                                           \
      .Doc("The gradient of SparseSegment" #Name ".");                               \
  OP("SparseSegment" #Name "GradV2")                                                 \
      .Input("grad: T")                                                              \
      .Input("indices: Tidx")                                                        \
      .Input("segment_ids: Tsegmentids")                                             \
      .Input("dense_output_dim0: int32")                                             \
      .Output("output: T")                                                           \
      .Output("sorted_unique_indices: Tidx")                                         \
      .Attr("T: {bfloat16, half, float, double}")                                    \
      .With(IndexTypeAttr)                                                           \
      .With(IdTypeAttr)                                                              \
      .Shape(NamedShape)                                                             \
      .Cpu<Name##GradKernel>(FloatTypes{})                                           \
      .Doc("The gradient of SparseSegment" #Name ", of the rows that it used.")

SPARSE_SEGMENT(Sum, "realnumbertype", RealTypes, "Sums");
SPARSE_SEGMENT(Mean, "{bfloat16, half, float, double}", FloatTypes, "Means");
SPARSE_SEGMENT(SqrtN, "{bfloat16, half, float, double}", FloatTypes, "Sums, divided by the root of their number,");

}  // namespace
}  // namespace millstream
