// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

bool IsInOrder(const SparseInput& s) {
  for (int64_t i = 1; i < s.size(); ++i) {
    if (CompareIndices(s.at(i - 1), s.at(i), s.rank()) > 0) return false;
  }
  return true;
}

Status SparseReorderCpu(KernelContext& ctx) {
  RETURN_IF_ERROR(CheckSparse(ctx, 0));
  ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
  if (IsInOrder(s)) {
    ctx.set_output(0, ctx.input(0));
    ctx.set_output(1, ctx.input(1));
    return OkStatus();
  }
  const std::vector<int64_t> order = OrderOf(s);
  std::vector<int64_t> entries;
  entries.reserve(order.size() * s.shape.size());
  for (const int64_t i : order) entries.insert(entries.end(), s.at(i), s.at(i) + s.rank());
  ASSIGN_OR_RETURN(Tensor * values, WriteSparse(ctx, 0, entries, s.rank(), nullptr));
  DispatchBlob(values->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t k = 0; k < order.size(); ++k) BlobData<T>(values)[k] = BlobData<T>(s.values)[order[k]];
  });
  return OkStatus();
}

Status SparseReorderShape(ShapeContext& c) {
  int64_t n = 0, rank = 0;
  RETURN_IF_ERROR(SparseRank(c.input(0), c.input(1), c.input(2), &n, &rank));
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(1));
  return OkStatus();
}

Status SparseReorderGrad(GradContext& g) {
  const Scope& s = g.scope();
  const Output shape = g.Op("Shape", {g.input(1)});
  const Output count = g.Op("Reshape", {shape, s.Const(Tensor(DType::kInt32, Shape({0})))});
  const Output places = g.Op("Range", {s.Const<int32_t>(0), count, s.Const<int32_t>(1)});
  Node* sorted = g.Add("SparseReorder", {g.input(0), places, g.input(2)});
  if (sorted == nullptr) return g.status();
  const Output back = g.Op("InvertPermutation", {Output(sorted, 1)});
  g.set_dx(1, g.Op("GatherV2", {g.dy(1), back, s.Const<int32_t>(0)}));
  return g.status();
}

// How far apart neighbours of each dimension are; at least 1.
Dims PlaceStrides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) {
    if (__builtin_mul_overflow(strides[d], std::max<int64_t>(dims[d], 1), &strides[d - 1])) strides[d - 1] = INT64_MAX;
  }
  return strides;
}

// The places of entries in another shape of as many elements, one size of which may be -1.
Status SparseReshapeCpu(KernelContext& ctx) {
  const Tensor& indices = ctx.input(0);
  if (indices.rank() != 2) {
    return errors::InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString());
  }
  Dims from, to;
  RETURN_IF_ERROR(ReadIntVector(ctx.input(1), "Input shape", &from));
  RETURN_IF_ERROR(ReadIntVector(ctx.input(2), "Target shape", &to));
  if (indices.dim(1) != static_cast<int64_t>(from.size())) {
    return errors::InvalidArgument("Input tensor rank must match input shape length.");
  }
  ASSIGN_OR_RETURN(const Shape old_shape, MakeShape(from));
  int unknown = -1;
  int64_t product = 1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == -1) {
      if (unknown >= 0) {
        return errors::InvalidArgument("only one output dimension may be -1, not both ", unknown, " and ", d);
      }
      unknown = static_cast<int>(d);
    } else if (to[d] < 0) {
      return errors::InvalidArgument("size ", d, " must be non-negative, not ", to[d]);
    } else if (__builtin_mul_overflow(product, to[d], &product)) {
      return errors::InvalidArgument("The target shape is too large");
    }
  }
  if (unknown >= 0) {
    if (product <= 0)
      return errors::InvalidArgument(
          "reshape cannot infer the missing input size for an empty tensor "
          "unless all specified input sizes are non-zero");
    to[unknown] = old_shape.num_elements() / product;
  }
  ASSIGN_OR_RETURN(const Shape new_shape, MakeShape(to));
  if (new_shape.num_elements() != old_shape.num_elements()) {
    return errors::InvalidArgument("Input to reshape is a tensor with ", old_shape.num_elements(),
                                   " dense values, but the requested shape has ", new_shape.num_elements());
  }
  if (new_shape == old_shape) {  // indices stay as they are, whatever they say
    ctx.set_output(0, indices);
    ctx.set_output(1, ctx.input(1));
    return OkStatus();
  }
  const int64_t n = indices.dim(0);
  if (n > 0 && old_shape.num_elements() == 0) {
    return errors::InvalidArgument("Input tensor has ", n, " non zero elements but input shape (", old_shape.ToString(),
                                   ") or output shape (", new_shape.ToString(), ") is empty");
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({n, new_shape.rank()})));
  const Dims in_strides = PlaceStrides(from), out_strides = PlaceStrides(to);
  const int64_t* in = indices.data<int64_t>();
  int64_t* row = out->data<int64_t>();
  // Nobody looks whether an index lies within the shape: one that does not goes to where its place is counted to.
  for (int64_t i = 0; i < n; ++i, in += from.size(), row += to.size()) {
    uint64_t sum = 0;
    for (size_t d = 0; d < from.size(); ++d) sum += static_cast<uint64_t>(in[d]) * static_cast<uint64_t>(in_strides[d]);
    auto place = static_cast<int64_t>(sum);
    for (size_t d = 0; d < to.size(); place %= out_strides[d++]) row[d] = place / out_strides[d];
  }
  ASSIGN_OR_RETURN(Tensor * sizes, ctx.AllocateOutput(1, Shape({new_shape.rank()})));
  std::copy(to.begin(), to.end(), sizes->data<int64_t>());
  return OkStatus();
}

Status SparseReshapeShape(ShapeContext& c) {
  PartialShape indices, unused, to;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &unused));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &to));
  c.set_output(0, PartialShape({indices.dim(0), to.dim(0)}));
  c.set_output(1, to);
  return OkStatus();
}

OP("SparseReorder")
    .Input("input_indices: int64")
    .Input("input_values: T")
    .Input("input_shape: int64")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Attr("T: type")
    .Shape(SparseReorderShape)
    .Gradient(SparseReorderGrad)
    .Cpu(SparseReorderCpu)
    .Doc("Entries in the order of rows.");

OP("SparseReshape")
    .Input("input_indices: int64")
    .Input("input_shape: int64")
    .Input("new_shape: int64")
    .Output("output_indices: int64")
    .Output("output_shape: int64")
    .Shape(SparseReshapeShape)
    .Cpu(SparseReshapeCpu)
    .Doc("A sparse tensor in another shape of as many elements; values stay as they are.");

}  // namespace
}  // namespace millstream
