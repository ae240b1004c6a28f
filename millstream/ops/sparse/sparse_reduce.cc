// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <numeric>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

// Which axes go, and the shape that is left, without them and with ones in their place.
struct Reduction {
  std::vector<int> kept;
  Dims shape;
};

StatusOr<Reduction> ReadReduction(const SparseInput& s, const Tensor& axes, bool keep_dims) {
  Dims list;
  RETURN_IF_ERROR(ReadInts(axes, &list));
  std::vector<bool> gone(s.shape.size(), false);
  for (const int64_t axis : list) {
    if (axis < -s.rank() || axis >= s.rank()) {
      return errors::InvalidArgument("Invalid reduction dimension ", axis, ", for input with ", s.rank(),
                                     " dimensions.");
    }
    gone[axis < 0 ? axis + s.rank() : axis] = true;
  }
  Reduction r;
  for (int d = 0; d < s.rank(); ++d) {
    if (!gone[d]) r.kept.push_back(d);
    if (!gone[d] || keep_dims) r.shape.push_back(gone[d] ? 1 : s.shape[d]);
  }
  return r;
}

template <typename T, bool maximum>
struct Combine {
  using W = std::conditional_t<std::is_integral_v<T>, std::conditional_t<maximum, T, uint64_t>, Compute<T>>;
  static void Into(W* a, T b) {
    if constexpr (maximum)
      *a = std::max(*a, static_cast<W>(b));
    else
      *a += static_cast<W>(b);
  }
};

// Groups of entries that become one, in the order of the result.
template <typename T, bool maximum>
class SparseReduce : public Kernel {
 public:
  explicit SparseReduce(KernelInit& init)
      : keep_dims_(init.Attr<bool>("keep_dims")), sparse_(init.output_types().size() == 3) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
    RETURN_IF_ERROR(CheckBounds(s));
    ASSIGN_OR_RETURN(const Reduction r, ReadReduction(s, ctx.input(3), keep_dims_));
    std::vector<int64_t> order(static_cast<size_t>(s.size()));
    std::iota(order.begin(), order.end(), 0);
    const auto less = [&](int64_t a, int64_t b) {
      for (const int d : r.kept) {
        if (s.at(a)[d] != s.at(b)[d]) return s.at(a)[d] < s.at(b)[d];
      }
      return false;
    };
    std::stable_sort(order.begin(), order.end(), less);
    std::vector<int64_t> firsts;
    std::vector<T> results;
    using C = Combine<T, maximum>;
    for (size_t begin = 0; begin < order.size();) {
      size_t end = begin + 1;
      auto sum = static_cast<typename C::W>(s.values.data<T>()[order[begin]]);
      for (; end < order.size() && !less(order[begin], order[end]); ++end)
        C::Into(&sum, s.values.data<T>()[order[end]]);
      firsts.push_back(order[begin]);
      results.push_back(static_cast<T>(sum));
      begin = end;
    }
    return sparse_ ? WriteEntries(ctx, s, r, firsts, results) : WriteDense(ctx, s, r, firsts, results);
  }

 private:
  static Status WriteDense(KernelContext& ctx, const SparseInput& s, const Reduction& r,
                           const std::vector<int64_t>& firsts, const std::vector<T>& results) {
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(r.shape));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    FillZero(ctx, out);
    for (size_t i = 0; i < firsts.size(); ++i) {
      int64_t place = 0;
      for (const int d : r.kept) place = place * s.shape[d] + s.at(firsts[i])[d];
      out->data<T>()[place] = results[i];
    }
    return OkStatus();
  }

  Status WriteEntries(KernelContext& ctx, const SparseInput& s, const Reduction& r, const std::vector<int64_t>& firsts,
                      const std::vector<T>& results) const {
    std::vector<int64_t> entries;
    for (const int64_t i : firsts) {
      size_t next = 0;
      for (int d = 0; d < s.rank(); ++d) {
        const bool kept = next < r.kept.size() && r.kept[next] == d;
        if (kept) ++next;
        if (kept || keep_dims_) entries.push_back(kept ? s.at(i)[d] : 0);
      }
    }
    const auto n = static_cast<int64_t>(results.size()), rank = static_cast<int64_t>(r.shape.size());
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({n, rank})));
    std::copy(entries.begin(), entries.end(), indices->data<int64_t>());
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({n})));
    std::copy(results.begin(), results.end(), values->data<T>());
    ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(2, Shape({rank})));
    std::copy(r.shape.begin(), r.shape.end(), sizes->data<int64_t>());
    return OkStatus();
  }

  const bool keep_dims_, sparse_;
};
template <typename T>
using SumKernel = SparseReduce<T, false>;
template <typename T>
using MaxKernel = SparseReduce<T, true>;

Status DenseShape(ShapeContext& c) {
  bool keep_dims = false;
  RETURN_IF_ERROR(c.GetAttr("keep_dims", &keep_dims));
  ASSIGN_OR_RETURN(const PartialShape shape, c.ConstantAsShape(2));
  std::vector<int64_t> axes;
  if (!shape.rank_known() || !c.ConstantInts(3, &axes)) return OkStatus();
  std::vector<bool> gone(static_cast<size_t>(shape.rank()), false);
  for (const int64_t axis : axes) {
    int d = 0;
    RETURN_IF_ERROR(NormalizeAxis(axis, "reduction dimension", shape.rank(), &d));
    gone[d] = true;
  }
  std::vector<int64_t> dims;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!gone[d] || keep_dims) dims.push_back(gone[d] ? 1 : shape.dim(d));
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return OkStatus();
}

Status EntriesShape(ShapeContext& c) {
  SetSparseOutput(c, 0, -1);
  c.set_output(0, PartialShape({-1, -1}));
  return OkStatus();
}

Status SumGrad(GradContext& g) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output shape = g.input(2), axes = g.input(3), zero = s.Const<int32_t>(0), one = s.Const<int32_t>(1);
  const Output rank = g.Op("Size", {shape});
  const Output range = g.Op("Range", {zero, rank, one});
  const Output places = g.Op("FloorMod", {m.Add(g.Op("Reshape", {axes, s.Constant({-1})}), rank), rank});
  const Output ones = g.Op("OnesLike", {g.Op("Cast", {places}, {{"DstT", DType::kInt64}})});
  const Output kept = g.Op("DynamicStitch", {range, places, shape, ones}, {{"N", 2}});
  const Output scale = g.Op("FloorDiv", {shape, kept});
  const Output dy = g.Op("Reshape", {g.dy(0), kept});
  g.set_dx(1, g.Op("GatherNd", {dy, g.Op("FloorDiv", {g.input(0), scale})}));
  return g.status();
}

void ReduceInputs(OpBuilder& op) {
  op.Input("input_indices: int64")
      .Input("input_values: T")
      .Input("input_shape: int64")
      .Input("reduction_axes: int32")
      .Attr("keep_dims: bool = false");
}
void ReduceToDense(OpBuilder& op) { op.With(ReduceInputs).Output("output: T").Shape(DenseShape); }
void ReduceToSparse(OpBuilder& op) {
  op.With(ReduceInputs)
      .Output("output_indices: int64")
      .Output("output_values: T")
      .Output("output_shape: int64")
      .Shape(EntriesShape);
}

OP("SparseReduceSum")
    .With(ReduceToDense)
    .Attr("T: numbertype")
    .Gradient(SumGrad)
    .Cpu<SumKernel>(NumberTypes{})
    .Doc("Sums of a sparse tensor over axes, as a dense tensor.");
OP("SparseReduceSumSparse")
    .With(ReduceToSparse)
    .Attr("T: numbertype")
    .Cpu<SumKernel>(NumberTypes{})
    .Doc("Sums of a sparse tensor over axes, as a sparse tensor.");
OP("SparseReduceMax")
    .With(ReduceToDense)
    .Attr("T: realnumbertype")
    .Cpu<MaxKernel>(RealTypes{})
    .Doc("Maxima of the entries of a sparse tensor over axes, as a dense tensor.");
OP("SparseReduceMaxSparse")
    .With(ReduceToSparse)
    .Attr("T: realnumbertype")
    .Cpu<MaxKernel>(RealTypes{})
    .Doc("Maxima of the entries of a sparse tensor over axes, as a sparse tensor.");

}  // namespace
}  // namespace millstream
