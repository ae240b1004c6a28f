// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/array/parts.h"
#include "millstream/ops/elements/side_by_side.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// Inputs [first, first + n) of the node are joined along the axis in input `axis_input`.
class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(KernelInit& init) {
    const bool v2 = init.op().name == "ConcatV2";
    int end = 0;
    init.InputRange("values", &first_, &end);
    n_ = end - first_;
    axis_input_ = v2 ? n_ : 0;
  }

  Status Compute(KernelContext& ctx) override {
    return Join(ctx, [&](int i) -> const Tensor& { return ctx.input(first_ + i); });
  }

 protected:
  // part(i) is what to join in place of value i, of the same shape.
  template <typename Part>
  Status Join(KernelContext& ctx, Part part) {
    const Shape& shape0 = ctx.input(first_).shape();
    int axis = 0;
    RETURN_IF_ERROR(ReadConcatAxis(ctx.input(axis_input_), shape0.rank(), &axis));
    ColumnBlocks blocks;
    Dims dims(shape0.dims().begin(), shape0.dims().end());
    dims[axis] = 0;
    for (int i = 0; i < n_; ++i) {
      const Tensor& in = part(i);
      RETURN_IF_ERROR(CheckConcatShape(shape0, in.shape(), axis, i));
      dims[axis] += in.dim(axis);
      const int64_t width = in.shape().Product(axis, in.rank());
      if (width > 0) blocks.push_back({const_cast<void*>(in.raw()), width});
    }
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() > 0) JoinColumns(ctx, out->dtype(), blocks, shape.Product(0, axis), out->raw());
    return OkStatus();
  }

  int first_ = 0;
  int n_ = 0;

 private:
  int axis_input_ = 0;
};

// Values, their lower bounds and their upper bounds: the values are brought to the range that holds all of theirs.
template <typename T>
class QuantizedConcat final : public ConcatKernel {
 public:
  explicit QuantizedConcat(KernelInit& init) : ConcatKernel(init) {}

  Status Compute(KernelContext& ctx) override {
    using Code = std::conditional_t<sizeof(T) == 1, uint8_t, int32_t>;
    float low = 0, high = std::numeric_limits<float>::lowest();
    for (int i = 0; i < n_; ++i) {
      RETURN_IF_ERROR(CheckBound(ctx, i, n_, "input_mins"));
      RETURN_IF_ERROR(CheckBound(ctx, i, 2 * n_, "input_maxes"));
      low = std::min(low, Low(ctx, i));
      high = std::max(high, High(ctx, i));
    }
    if (std::is_signed_v<Code>) {  // symmetric about zero
      high = std::max(std::fabs(low), std::fabs(high));
      low = -high;
    }
    std::vector<Tensor> parts;
    const FloatQuantizedRange<Code> to(low, high);
    for (int i = 0; i < n_; ++i) {
      parts.push_back(ctx.input(first_ + i));
      if (Low(ctx, i) == low && High(ctx, i) == high) continue;
      const Tensor in = parts.back();
      ASSIGN_OR_RETURN(parts.back(), ctx.AllocateTemp(in.dtype(), in.shape()));
      const FloatQuantizedRange<Code> from(Low(ctx, i), High(ctx, i));
      for (int64_t k = 0; k < in.num_elements(); ++k) {
        Integers<Code>(&parts.back())[k] = to.FromFloat(from.ToFloat(Integers<Code>(in)[k]));
      }
    }
    RETURN_IF_ERROR(Join(ctx, [&](int i) -> const Tensor& { return parts[static_cast<size_t>(i)]; }));
    return OutputRange(ctx, 1, low, high);
  }

 private:
  Status CheckBound(const KernelContext& ctx, int i, int offset, const char* name) const {
    const int64_t found = ctx.input(first_ + offset + i).num_elements();
    if (found == 1) return OkStatus();
    return errors::InvalidArgument(name, " each tensor's num elements must be 1, given num elements ", found,
                                   " in index ", i);
  }
  float Low(const KernelContext& ctx, int i) const { return ctx.input(first_ + n_ + i).template data<float>()[0]; }
  float High(const KernelContext& ctx, int i) const { return ctx.input(first_ + 2 * n_ + i).template data<float>()[0]; }
};

Status ConcatShapes(ShapeContext& c, int first, int n, int axis_input) {
  PartialShape axis_shape;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(axis_input), 1, &axis_shape));
  int rank = -1;
  for (int i = first; i < first + n; ++i) {
    if (!c.input(i).rank_known()) continue;
    if (rank >= 0 && c.input(i).rank() != rank) {
      return errors::InvalidArgument("Shapes must have the same rank, but are ", rank, " and ", c.input(i).rank());
    }
    rank = c.input(i).rank();
  }
  if (rank < 0) return OkStatus();
  if (rank == 0) return errors::InvalidArgument("Can't concatenate scalars (use tf.stack instead)");
  int64_t value = 0;
  if (!c.ConstantInt(axis_input, &value)) {
    c.set_output(0, PartialShape::UnknownOfRank(rank));
    return OkStatus();
  }
  int axis = 0;
  RETURN_IF_ERROR(NormalizeAxis(value, "concatenating dimensions", rank, &axis));
  PartialShape out = PartialShape::UnknownOfRank(rank);
  int64_t total = 0;
  for (int i = first; i < first + n; ++i) {
    PartialShape in;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), rank, &in));
    total = total < 0 || in.dim(axis) < 0 ? -1 : total + in.dim(axis);
    in.set_dim(axis, -1);
    ASSIGN_OR_RETURN(out, out.MergeWith(in));
  }
  out.set_dim(axis, total);
  c.set_output(0, std::move(out));
  return OkStatus();
}

Status ConcatShape(ShapeContext& c) { return ConcatShapes(c, 1, c.num_inputs() - 1, 0); }
Status QuantizedConcatShape(ShapeContext& c) {
  const int n = (c.num_inputs() - 1) / 3;
  RETURN_IF_ERROR(ConcatShapes(c, 1, n, 0));
  return ScalarRanges(c, 1 + n, 2 * n);
}
Status ConcatV2Shape(ShapeContext& c) { return ConcatShapes(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

// Each input's part of dy: by one split where the sizes along the axis are known, by slices at computed offsets if not.
Status ConcatGrads(GradContext& g, int first, int n, Output axis) {
  std::vector<Output> values;
  for (int i = 0; i < n; ++i) values.push_back(g.input(first + i));
  const Output dy = g.dy(0);
  Tensor axis_value;
  int64_t a = 0;
  std::vector<int64_t> sizes;
  if (g.scope().ConstantValue(axis, &axis_value) && ReadIntScalar(axis_value, "axis", &a).ok()) {
    for (const Output& v : values) {
      const PartialShape shape = g.scope().ShapeOf(v);
      if (!shape.rank_known() || a < -shape.rank() || a >= shape.rank()) break;
      const int64_t size = shape.dim(static_cast<int>(a < 0 ? a + shape.rank() : a));
      if (size < 0) break;
      sizes.push_back(size);
    }
  }
  if (static_cast<int>(sizes.size()) == n) {
    Node* split = g.Add("SplitV", {dy, ConstInts(g, sizes, DType::kInt64), ConstInt(g, a)}, {{"num_split", n}});
    RETURN_IF_ERROR(g.status());
    for (int i = 0; i < n; ++i) g.set_dx(first + i, Output(split, i));
    return OkStatus();
  }
  Node* shapes = g.Add("ShapeN", values);
  RETURN_IF_ERROR(g.status());
  if (axis.dtype() != DType::kInt32) axis = g.Op("Cast", {axis}, {{"DstT", DType::kInt32}});
  // A negative axis is counted from the end; ConcatOffset does not know the rank of dy but that of the shapes.
  std::vector<Output> offset_inputs = {axis};
  for (int i = 0; i < n; ++i) offset_inputs.emplace_back(shapes, i);
  Node* offsets = g.Add("ConcatOffset", std::move(offset_inputs));
  RETURN_IF_ERROR(g.status());
  for (int i = 0; i < n; ++i) g.set_dx(first + i, g.Op("Slice", {dy, Output(offsets, i), Output(shapes, i)}));
  return OkStatus();
}

Status ConcatGrad(GradContext& g) { return ConcatGrads(g, 1, g.node().num_inputs() - 1, g.input(0)); }
Status ConcatV2Grad(GradContext& g) {
  const int n = g.node().num_inputs() - 1;
  return ConcatGrads(g, 0, n, g.input(n));
}

template <typename T>
class ConcatOffsetKernel : public Kernel {
 public:
  explicit ConcatOffsetKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& first = ctx.input(1);
    if (first.rank() != 1)
      return errors::InvalidArgument("input 0 should be a vector, but got shape ", first.shape().ToString());
    const int rank = static_cast<int>(first.num_elements());
    int axis = 0;
    if (!ReadAxis(ctx.input(0), "Concat dim", rank, &axis).ok()) {
      return errors::InvalidArgument("Concat dim is out of range: ", ctx.input(0).SummarizeValue(), " vs. ", rank);
    }
    int64_t offset = 0;
    for (int i = 0; i + 1 < ctx.num_inputs(); ++i) {
      const Tensor& in = ctx.input(i + 1);
      if (in.rank() != 1)
        return errors::InvalidArgument("input ", i, " should be a vector, but got shape ", in.shape().ToString());
      if (!(in.shape() == first.shape())) {
        return errors::InvalidArgument("input ", i, " should contain ", rank, " elements, but got ",
                                       in.shape().ToString());
      }
      for (int d = 0; d < rank; ++d) {
        if (d != axis && in.data<T>()[d] != first.data<T>()[d]) {
          return errors::InvalidArgument("All dimensions except ", axis, " must match. Input ", i, " has shape [",
                                         in.SummarizeValue(), "] and doesn't match input 0 with shape [",
                                         first.SummarizeValue(), "].");
        }
      }
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, in.shape()));
      std::fill_n(out->data<T>(), rank, T{0});
      out->data<T>()[axis] = static_cast<T>(offset);
      if (__builtin_add_overflow(offset, in.data<T>()[axis], &offset)) {
        return errors::InvalidArgument("Sizes along the concatenated dimension are too large");
      }
    }
    return OkStatus();
  }
};

Status ConcatOffsetShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.set_output(i - 1, c.input(i));
  return OkStatus();
}

OP("Concat")
    .Input("concat_dim: int32")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Shape(ConcatShape)
    .Gradient(ConcatGrad)
    .Cpu<ConcatKernel>()
    .HostMemory("concat_dim")
    .Doc("Joins tensors along one dimension.");

OP("ConcatV2")
    .Input("values: N * T")
    .Input("axis: Tidx")
    .Output("output: T")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Attr("Tidx: {int32, int64} = DT_INT32")
    .Shape(ConcatV2Shape)
    .Gradient(ConcatV2Grad)
    .Cpu<ConcatKernel>()
    .HostMemory("axis")
    .Doc("Joins tensors along one dimension.");

OP("QuantizedConcat")
    .Input("concat_dim: int32")
    .Input("values: N * T")
    .Input("input_mins: N * float")
    .Input("input_maxes: N * float")
    .Output("output: T")
    .Output("output_min: float")
    .Output("output_max: float")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Shape(QuantizedConcatShape)
    .NotDifferentiable()
    .Cpu<QuantizedConcat>(Types<Quint8, Qint32>{})
    .HostMemory("concat_dim")
    .Doc("Joins quantized tensors along a dimension, in a range that holds those of all.");

OP("ConcatOffset")
    .Input("concat_dim: int32")
    .Input("shape: N * shape_type")
    .Output("offset: N * shape_type")
    .Attr("N: int >= 2")
    .Attr("shape_type: {int32, int64} = DT_INT32")
    .Shape(ConcatOffsetShape)
    .NotDifferentiable()
    .Cpu<ConcatOffsetKernel>(IndexTypes{}, "shape_type")
    .HostMemory("concat_dim")
    .HostMemory("shape")
    .HostMemory("offset")
    .Doc("Where each tensor of a concatenation begins.");

}  // namespace
}  // namespace millstream
