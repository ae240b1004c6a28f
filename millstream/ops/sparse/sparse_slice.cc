// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

// Entries of a sparse tensor that go to an output, and their new coordinates.
struct Picked {
  std::vector<int64_t> entries, from;
};

Status Write(KernelContext& ctx, int i, int stride, const Picked& p, const Dims& shape, const Tensor& values) {
  // Outputs come in three lists of `stride` each.
  const auto rank = static_cast<int64_t>(shape.size());
  const auto n = static_cast<int64_t>(p.from.size());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(i, Shape({n, rank})));
  std::copy(p.entries.begin(), p.entries.end(), indices->data<int64_t>());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i + stride, Shape({n})));
  DispatchBlob(out->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (int64_t k = 0; k < n; ++k) BlobData<T>(out)[k] = BlobData<T>(values)[p.from[k]];
  });
  ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(i + 2 * stride, Shape({rank})));
  std::copy(shape.begin(), shape.end(), sizes->data<int64_t>());
  return OkStatus();
}

Status SparseSliceCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckSparse(ctx, 0));
  ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
  Dims start, size, shape;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(3), "Input start", &start));
  RETURN_IF_ERROR(ReadIntVector(ctx.input(4), "Input size", &size));
  for (const Dims* part : {&start, &size}) {
    if (part->size() == s.shape.size()) continue;
    return errors::InvalidArgument("Expected ", part == &start ? "start" : "size", " to be a vector of length ",
                                   s.rank(), " but got length ", part->size());
  }
  for (int d = 0; d < s.rank(); ++d) {
    if (size[d] < 0) return errors::InvalidArgument("Expected a non-negative size, got ", size[d]);
    int64_t rest = 0;  // what lies behind the start, which may lie before the tensor
    if (__builtin_sub_overflow(s.shape[d], start[d], &rest)) rest = std::numeric_limits<int64_t>::max();
    shape.push_back(std::min(std::max<int64_t>(rest, 0), size[d]));
  }
  Picked p;
  for (int64_t i = 0; i < s.size(); ++i) {
    const int64_t* at = s.at(i);
    bool inside = true;
    for (int d = 0; d < s.rank(); ++d) {
      const auto behind = static_cast<uint64_t>(at[d]) - static_cast<uint64_t>(start[d]);
      inside &= at[d] >= start[d] && behind < static_cast<uint64_t>(shape[d]);
    }
    if (!inside) continue;
    for (int d = 0; d < s.rank(); ++d) p.entries.push_back(at[d] - start[d]);
    p.from.push_back(i);
  }
  return Write(ctx, 0, 1, p, shape, s.values);
}

// Splits one dimension as evenly as possible; the first parts are larger by one.
Status SparseSplitCpu(KernelContext& ctx) {
  int64_t dim = 0;
  if (ctx.input(0).rank() != 0) {
    return errors::InvalidArgument("Input axis should be a scalar but received shape ",
                                   ctx.input(0).shape().ToString());
  }
  RETURN_IF_ERROR(ReadIntScalar(ctx.input(0), "split_dim", &dim));
  RETURN_IF_ERROR(CheckSparse(ctx, 1));
  ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 1));
  if (dim < -s.rank() || dim >= s.rank()) {
    return errors::InvalidArgument("Input axis should be in range [", -s.rank(), ", ", s.rank(), "), got ", dim);
  }
  if (dim < 0) dim += s.rank();
  const int parts = ctx.num_outputs() / 3;
  const int64_t total = s.shape[dim];
  if (parts > total) {
    return errors::InvalidArgument("Input num_split should be between 1 and the splitting dimension size (", total,
                                   "), got ", parts);
  }
  RETURN_IF_ERROR(CheckBounds(s));
  const int64_t small = total / parts, larger = total % parts;
  const auto begin = [&](int64_t k) { return k * small + std::min(k, larger); };
  std::vector<Picked> picked(static_cast<size_t>(parts));
  for (int64_t i = 0; i < s.size(); ++i) {
    const int64_t at = s.at(i)[dim];
    int64_t part = at < larger * (small + 1) ? at / (small + 1) : (at - larger) / small;
    Picked& p = picked[part];
    for (int d = 0; d < s.rank(); ++d) p.entries.push_back(d == dim ? at - begin(part) : s.at(i)[d]);
    p.from.push_back(i);
  }
  for (int k = 0; k < parts; ++k) {
    Dims shape = s.shape;
    shape[dim] = begin(k + 1) - begin(k);
    RETURN_IF_ERROR(Write(ctx, k, parts, picked[k], shape, s.values));
  }
  return OkStatus();
}

class SparseConcat : public Kernel {
 public:
  explicit SparseConcat(KernelInit& init) : dim_(init.Attr<int64_t>("concat_dim")) {}

  Status Compute(KernelContext& ctx) override {
    const int n = ctx.num_inputs() / 3;
    std::vector<SparseInput> in;
    for (int k = 0; k < n; ++k) {
      ASSIGN_OR_RETURN(SparseInput s, MakeSparse(ctx.input(k), ctx.input(n + k), ctx.input(2 * n + k)));
      in.push_back(std::move(s));
    }
    const int rank = in[0].rank();
    const int64_t dim = dim_ < 0 ? dim_ + rank : dim_;
    if (dim < 0 || dim >= rank) {
      return errors::InvalidArgument("Concat dimension must be in range [", -rank, ", ", rank, "), got ", dim_);
    }
    Dims shape = in[0].shape;
    std::vector<std::pair<int, int64_t>> entries;
    Dims begins;
    shape[dim] = 0;
    for (int k = 0; k < n; ++k) {
      if (in[k].rank() != rank) {
        return errors::InvalidArgument("Ranks of all input tensors must match: expected ", rank, " but got ",
                                       in[k].rank(), " at position ", k);
      }
      for (int d = 0; d < rank; ++d) {
        if (d != dim && in[k].shape[d] != shape[d]) {
          return errors::InvalidArgument("Input shapes must match: expected ", shape[d], " for dimension ", d,
                                         " but got ", in[k].shape[d], " at position ", k);
        }
      }
      begins.push_back(shape[dim]);
      if (__builtin_add_overflow(shape[dim], in[k].shape[dim], &shape[dim])) {
        return errors::InvalidArgument("Concatenated size overflows");
      }
      for (int64_t i = 0; i < in[k].size(); ++i) entries.emplace_back(k, i);
    }
    const auto coordinate = [&](const std::pair<int, int64_t>& e, int d) {
      return in[e.first].at(e.second)[d] + (d == dim ? begins[e.first] : 0);
    };
    std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
      for (int d = 0; d < rank; ++d) {
        const int64_t x = coordinate(a, d), y = coordinate(b, d);
        if (x != y) return x < y;
      }
      return false;
    });
    std::vector<int64_t> rows;
    for (const auto& e : entries) {
      for (int d = 0; d < rank; ++d) rows.push_back(coordinate(e, d));
    }
    ASSIGN_OR_RETURN(Tensor * values, WriteSparse(ctx, 0, rows, rank, &shape));
    DispatchBlob(values->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      for (size_t i = 0; i < entries.size(); ++i) {
        BlobData<T>(values)[i] = BlobData<T>(in[entries[i].first].values)[entries[i].second];
      }
    });
    return OkStatus();
  }

 private:
  const int64_t dim_;
};

// Gradients go back to the entries that were inside; both lists are in the same order.
Status SparseSliceGradCpu(KernelContext& ctx) {
  const Tensor &dy = ctx.input(0), &in = ctx.input(1), &out_indices = ctx.input(3);
  if (dy.rank() != 1) return errors::InvalidArgument("Input backprop_val_grad should be a vector");
  if (in.rank() != 2 || out_indices.rank() != 2 || in.dim(1) != out_indices.dim(1)) {
    return errors::InvalidArgument("The input and output should be matrices of the same ndims: got ",
                                   in.shape().ToString(), " and ", out_indices.shape().ToString());
  }
  Dims start;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(2), "input_start", &start));
  if (static_cast<int64_t>(start.size()) != in.dim(1)) {
    return errors::InvalidArgument("The input_start should have as many elements as dimensions");
  }
  if (dy.num_elements() != out_indices.dim(0)) {
    return errors::InvalidArgument("# elements and rows of output_indices should match: got ", dy.num_elements(),
                                   " and ", out_indices.dim(0));
  }
  const int rank = static_cast<int>(in.dim(1));
  ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, Shape({in.dim(0)})));
  FillZero(ctx, dx);
  DispatchBlob(dx->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    int64_t next = 0;
    for (int64_t i = 0; i < in.dim(0) && next < out_indices.dim(0); ++i) {
      const int64_t* at = in.data<int64_t>() + i * rank;
      const int64_t* to = out_indices.data<int64_t>() + next * rank;
      bool same = true;
      for (int d = 0; d < rank; ++d) same &= at[d] == to[d] + start[d];
      if (same) BlobData<T>(dx)[i] = BlobData<T>(dy)[next++];
    }
  });
  return OkStatus();
}

Status SparseSliceShape(ShapeContext& c) {
  PartialShape shape, start, size;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &shape));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 1, &start));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(4), 1, &size));
  SetSparseOutput(c, 0, shape.dim(0));
  return OkStatus();
}

Status SparseSplitShape(ShapeContext& c) {
  const int parts = c.num_outputs() / 3;
  PartialShape shape;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 1, &shape));
  for (int k = 0; k < parts; ++k) {
    c.set_output(k, PartialShape({-1, shape.dim(0)}));
    c.set_output(parts + k, PartialShape({-1}));
    c.set_output(2 * parts + k, shape);
  }
  return OkStatus();
}

Status SparseConcatShape(ShapeContext& c) {
  const int n = c.num_inputs() / 3;
  int64_t total = 0, rank = -1;
  PartialShape joint;
  for (int k = 0; k < n; ++k) {
    PartialShape indices, values, shape;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(k), 2, &indices));
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(n + k), 1, &values));
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2 * n + k), 1, &shape));
    int64_t rows = 0;
    RETURN_IF_ERROR(ShapeContext::MergeDim(indices.dim(0), values.dim(0), &rows));
    RETURN_IF_ERROR(ShapeContext::MergeDim(rank, indices.dim(1), &rank));
    total = total < 0 || rows < 0 ? -1 : total + rows;
    ASSIGN_OR_RETURN(joint, joint.MergeWith(shape));
  }
  c.set_output(0, PartialShape({total, rank}));
  c.set_output(1, PartialShape({total}));
  c.set_output(2, joint);
  return OkStatus();
}

Status SparseSliceGradShape(ShapeContext& c) {
  PartialShape indices;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &indices));
  c.set_output(0, PartialShape({indices.dim(0)}));
  return OkStatus();
}

Status SparseSliceGrad(GradContext& g) {
  g.set_dx(1, g.Op("SparseSliceGrad", {g.dy(1), g.input(0), g.input(3), g.output(0)}));
  return g.status();
}

OP("SparseSlice")
    .Input("indices: int64")
    .Input("values: T")
    .Input("shape: int64")
    .Input("start: int64")
    .Input("size: int64")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Output("output_shape: int64")
    .Attr("T: type")
    .Shape(SparseSliceShape)
    .Gradient(SparseSliceGrad)
    .Cpu(SparseSliceCpu)
    .Doc("A block of a sparse tensor.");

OP("SparseSliceGrad")
    .Input("backprop_val_grad: T")
    .Input("input_indices: int64")
    .Input("input_start: int64")
    .Input("output_indices: int64")
    .Output("val_grad: T")
    .Attr("T: numbertype")
    .Shape(SparseSliceGradShape)
    .Cpu(SparseSliceGradCpu)
    .Doc("The gradient of SparseSlice.");

OP("SparseSplit")
    .Input("split_dim: int64")
    .Input("indices: int64")
    .Input("values: T")
    .Input("shape: int64")
    .Output("output_indices: num_split * int64")
    .Output("output_values: num_split * T")
    .Output("output_shape: num_split * int64")
    .Attr("num_split: int >= 1")
    .Attr("T: type")
    .Shape(SparseSplitShape)
    .Cpu(SparseSplitCpu)
    .Doc("Parts of a sparse tensor along one dimension.");

OP("SparseConcat")
    .Input("indices: N * int64")
    .Input("values: N * T")
    .Input("shapes: N * int64")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Output("output_shape: int64")
    .Attr("concat_dim: int")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Shape(SparseConcatShape)
    .NotDifferentiable()
    .Cpu<SparseConcat>()
    .Doc("Sparse tensors joined along one dimension.");

}  // namespace
}  // namespace millstream
