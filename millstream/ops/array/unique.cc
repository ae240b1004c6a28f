// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/elements/distinct.h"

namespace millstream {
namespace {

using UniqueTypes = Join<RealTypes, Types<bool, std::string>>;

Status WriteIndices(KernelContext& ctx, int output, const std::vector<int64_t>& values) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, Shape({static_cast<int64_t>(values.size())})));
  DispatchOver(IndexTypes{}, out->dtype(), [&](auto type) {
    using Index = typename decltype(type)::type;
    std::transform(values.begin(), values.end(), out->data<Index>(), [](int64_t v) { return static_cast<Index>(v); });
  });
  return OkStatus();
}

// The input as [outer, n, inner]: items are the n slices of it.
struct Slices {
  int axis;
  int64_t outer, n, inner;
};

// V2 names an axis in a vector of at most one element; without one, and in V1, the input is a vector.
Status ReadSlices(const KernelContext& ctx, Slices* s) {
  const Tensor& in = ctx.input(0);
  Dims axes;
  if (ctx.num_inputs() > 1) {
    if (ctx.input(1).rank() != 1) return errors::InvalidArgument("axis expects a 1D vector.");
    RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "axis", &axes));
    if (axes.size() > 1) return errors::InvalidArgument("axis does not support input tensors larger than 1 elements");
  }
  if (axes.empty()) {
    if (in.rank() != 1) return errors::InvalidArgument("unique expects a 1D vector.");
    *s = {0, 1, in.num_elements(), 1};
  } else {
    int axis = 0;
    RETURN_IF_ERROR(NormalizeAxis(axes[0], "axis", in.rank(), &axis));
    *s = {axis, in.shape().Product(0, axis), in.dim(axis), in.shape().Product(axis + 1, in.rank())};
  }
  if (ctx.output_dtype(1) == DType::kInt32 && s->n > std::numeric_limits<int32_t>::max()) {
    return errors::InvalidArgument("unique does not support input tensors larger than 2147483647 elements");
  }
  return OkStatus();
}

template <typename T>
Distinct NumberSlices(const T* x, const Slices& s) {
  if (s.outer == 1 && s.inner == 1) {
    return Distinct(
        s.n, [=](int64_t i) { return HashOf(x[i]); }, [=](int64_t i, int64_t k) { return x[i] == x[k]; });
  }
  const auto all = [=](int64_t i, int64_t k, auto visit) {
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t j = 0; j < s.inner; ++j) {
        if (!visit(x[(o * s.n + i) * s.inner + j], x[(o * s.n + k) * s.inner + j])) return false;
      }
    }
    return true;
  };
  return Distinct(
      s.n,
      [=](int64_t i) {
        uint64_t h = 0;
        all(i, i, [&h](const T& a, const T&) {
          h = (h ^ HashOf(a)) * 0x100000001b3u;
          return true;
        });
        return h ^ (h >> 32);
      },
      [=](int64_t i, int64_t k) { return all(i, k, [](const T& a, const T& b) { return a == b; }); });
}

template <typename T>
class UniqueKernel : public Kernel {
 public:
  explicit UniqueKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    Slices s;
    RETURN_IF_ERROR(ReadSlices(ctx, &s));
    const T* x = in.data<T>();
    const Distinct found = NumberSlices(x, s);
    const auto& firsts = found.firsts();
    const auto count = static_cast<int64_t>(firsts.size());
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims[s.axis] = count;
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t k = 0; k < count; ++k) {
        CopyRun(x + (o * s.n + firsts[k]) * s.inner, s.inner, y->data<T>() + (o * count + k) * s.inner);
      }
    }
    RETURN_IF_ERROR(WriteIndices(ctx, 1, found.ids()));
    if (ctx.num_outputs() < 3) return OkStatus();
    std::vector<int64_t> counts(firsts.size(), 0);
    for (const int64_t id : found.ids()) ++counts[id];
    return WriteIndices(ctx, 2, counts);
  }
};

Status UniqueShape(ShapeContext& c) {
  PartialShape x;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &x));
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, std::move(x));
  if (c.num_outputs() > 2) c.set_output(2, PartialShape({-1}));
  return OkStatus();
}

// The size along the axis is unknown before running.
Status UniqueV2Shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  c.set_output(1, PartialShape({-1}));
  if (c.num_outputs() > 2) c.set_output(2, PartialShape({-1}));
  std::vector<int64_t> axes;
  if (!x.rank_known() || !c.ConstantInts(1, &axes)) return OkStatus();
  if (axes.empty() && x.rank() != 1) return errors::InvalidArgument("x expects a 1D vector.");
  if (axes.size() > 1) return errors::InvalidArgument("axis does not support input tensors larger than 1 elements");
  int axis = 0;
  if (!axes.empty()) RETURN_IF_ERROR(NormalizeAxis(axes[0], "axis", x.rank(), &axis));
  PartialShape out = x;
  out.set_dim(axis, -1);
  c.set_output(0, std::move(out));
  c.set_output(1, PartialShape({x.dim(axis)}));
  return OkStatus();
}

OP("Unique")
    .Input("x: T")
    .Output("y: T")
    .Output("idx: out_idx")
    .Attr("T: type")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(UniqueShape)
    .Cpu<UniqueKernel>(UniqueTypes{}, "T")
    .Doc(
        "The distinct values of a vector in order of appearance, and for each element the place of its value among "
        "them.");

OP("UniqueWithCounts")
    .Input("x: T")
    .Output("y: T")
    .Output("idx: out_idx")
    .Output("count: out_idx")
    .Attr("T: type")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(UniqueShape)
    .Cpu<UniqueKernel>(UniqueTypes{}, "T")
    .Doc("As Unique, with the number of times each value occurs.");

OP("UniqueV2")
    .Input("x: T")
    .Input("axis: Taxis")
    .Output("y: T")
    .Output("idx: out_idx")
    .Attr("T: type")
    .Attr("Taxis: {int32, int64} = DT_INT64")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(UniqueV2Shape)
    .Cpu<UniqueKernel>(UniqueTypes{}, "T")
    .Doc("The distinct slices along an axis in order of appearance, and the place of each slice among them.");

OP("UniqueWithCountsV2")
    .Input("x: T")
    .Input("axis: Taxis")
    .Output("y: T")
    .Output("idx: out_idx")
    .Output("count: out_idx")
    .Attr("T: type")
    .Attr("Taxis: {int32, int64} = DT_INT64")
    .Attr("out_idx: {int32, int64} = DT_INT32")
    .Shape(UniqueV2Shape)
    .Cpu<UniqueKernel>(UniqueTypes{}, "T")
    .Doc("As UniqueV2, with the number of times each slice occurs.");

}  // namespace
}  // namespace millstream
