// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/blob.h"
#include "millstream/ops/sparse/sparse_input.h"

namespace millstream {
namespace {

// Where each entry goes, by rows; and for each entry of the result the one it comes from, -1 for a default.
struct Layout {
  std::vector<int64_t> to, from;
  std::vector<bool> empty;  // by row
};

// Entry i of `n` is in row of[i * stride].
Layout LayOut(const int64_t* of, int64_t stride, int64_t n, int64_t rows) {
  std::vector<int64_t> begins(static_cast<size_t>(rows), 0);
  Layout l;
  l.empty.assign(static_cast<size_t>(rows), true);
  for (int64_t i = 0; i < n; ++i) {
    ++begins[of[i * stride]];
    l.empty[of[i * stride]] = false;
  }
  int64_t total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t count = std::max<int64_t>(begins[r], 1);
    begins[r] = total;
    total += count;
  }
  l.from.assign(static_cast<size_t>(total), -1);
  for (int64_t i = 0; i < n; ++i) {
    l.to.push_back(begins[of[i * stride]]++);
    l.from[l.to.back()] = i;
  }
  return l;
}

Status SparseFillEmptyRowsCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const SparseInput s, ReadSparse(ctx, 0));
  const Tensor& fill = ctx.input(3);
  if (s.rank() < 1) return errors::InvalidArgument("Dense shape cannot be empty.");
  if (fill.rank() != 0) {
    return errors::InvalidArgument("default_value must be a scalar, saw: ", fill.shape().ToString());
  }
  const int64_t rows = s.shape[0];
  if (rows == 0 && s.size() > 0) {
    return errors::InvalidArgument("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ", s.size());
  }
  for (int64_t i = 0; i < s.size(); ++i) {
    if (s.at(i)[0] < 0 || s.at(i)[0] >= rows) {
      return errors::InvalidArgument("indices(", i, ", 0) is invalid: ", s.at(i)[0], " >= ", rows);
    }
  }
  const Layout l = LayOut(s.indices.data<int64_t>(), s.rank(), s.size(), rows);
  const auto n = static_cast<int64_t>(l.from.size());
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({n, s.rank()})));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({n})));
  ASSIGN_OR_RETURN(Tensor * empty, ctx.AllocateOutput(2, Shape({rows})));
  ASSIGN_OR_RETURN(Tensor * map, ctx.AllocateOutput(3, Shape({s.size()})));
  std::copy(l.empty.begin(), l.empty.end(), empty->data<bool>());
  std::copy(l.to.begin(), l.to.end(), map->data<int64_t>());
  DispatchBlob(values->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    int64_t row = 0, *at = indices->data<int64_t>();
    for (int64_t k = 0; k < n; ++k, at += s.rank()) {
      const int64_t i = l.from[k];
      BlobData<T>(values)[k] = i < 0 ? *BlobData<T>(fill) : BlobData<T>(s.values)[i];
      if (i >= 0) {
        std::copy(s.at(i), s.at(i) + s.rank(), at);
      } else {
        std::fill(at, at + s.rank(), 0);
        while (!l.empty[row]) ++row;
        at[0] = row++;
      }
    }
  });
  return OkStatus();
}

Status RaggedFillEmptyRowsCpu(KernelContext& ctx) {
  const Tensor &ids = ctx.input(0), &values = ctx.input(1), &count = ctx.input(2), &fill = ctx.input(3);
  if (count.rank() != 0) return errors::InvalidArgument("nrows must be a scalar, saw: ", count.shape().ToString());
  if (ids.rank() != 1) return errors::InvalidArgument("value_rowids must be a vector, saw: ", ids.shape().ToString());
  if (values.rank() != 1) return errors::InvalidArgument("values must be a vector, saw: ", values.shape().ToString());
  if (ids.dim(0) != values.dim(0)) {
    return errors::InvalidArgument("The length of `values` (", values.dim(0),
                                   ") must match the first dimension of `value_rowids` (", ids.dim(0), ").");
  }
  if (fill.rank() != 0) {
    return errors::InvalidArgument("default_value must be a scalar, saw: ", fill.shape().ToString());
  }
  const int64_t rows = count.scalar<int64_t>();
  if (rows < 0) return errors::InvalidArgument("nrows must not be negative: ", rows);
  if (rows == 0 && ids.dim(0) > 0) {
    return errors::InvalidArgument("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ", ids.dim(0));
  }
  ASSIGN_OR_RETURN(Tensor * empty, ctx.AllocateOutput(2, Shape({rows})));
  for (int64_t i = 0; i < ids.dim(0); ++i) {
    const int64_t row = ids.data<int64_t>()[i];
    if (row < 0 || row >= rows) {
      return errors::InvalidArgument("indices(", i, ", 0) is invalid: ", row, " >= ", rows);
    }
  }
  const Layout l = LayOut(ids.data<int64_t>(), 1, ids.dim(0), rows);
  const auto n = static_cast<int64_t>(l.from.size());
  ASSIGN_OR_RETURN(Tensor * out_ids, ctx.AllocateOutput(0, Shape({n})));
  ASSIGN_OR_RETURN(Tensor * out_values, ctx.AllocateOutput(1, Shape({n})));
  ASSIGN_OR_RETURN(Tensor * map, ctx.AllocateOutput(3, ids.shape()));
  std::copy(l.empty.begin(), l.empty.end(), empty->data<bool>());
  std::copy(l.to.begin(), l.to.end(), map->data<int64_t>());
  DispatchBlob(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    int64_t row = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = l.from[k];
      BlobData<T>(out_values)[k] = i < 0 ? *BlobData<T>(fill) : BlobData<T>(values)[i];
      if (i < 0) {
        while (!l.empty[row]) ++row;
      }
      out_ids->data<int64_t>()[k] = i < 0 ? row++ : ids.data<int64_t>()[i];
    }
  });
  return OkStatus();
}

template <typename T>
class SparseFillEmptyRowsGradKernel : public Kernel {
 public:
  explicit SparseFillEmptyRowsGradKernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &map = ctx.input(0), &dy = ctx.input(1);
    if (map.rank() != 1)
      return errors::InvalidArgument("reverse_index_map must be a vector, saw: ", map.shape().ToString());
    if (dy.rank() != 1) return errors::InvalidArgument("grad_values must be a vector, saw: ", dy.shape().ToString());
    const int64_t n = dy.num_elements();
    std::vector<bool> used(static_cast<size_t>(n), false);
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, map.shape()));
    ASSIGN_OR_RETURN(Tensor * fill, ctx.AllocateOutput(1, Shape()));
    for (int64_t i = 0; i < map.num_elements(); ++i) {
      const int64_t at = map.data<int64_t>()[i];
      if (at < 0 || at >= n) {
        return errors::InvalidArgument("Elements in reverse index must be in [0, ", n, ") but got ", at);
      }
      dx->data<T>()[i] = dy.data<T>()[at];
      used[at] = true;
    }
    using W = std::conditional_t<std::is_integral_v<T>, uint64_t, millstream::Compute<T>>;
    W sum = W();
    for (int64_t k = 0; k < n; ++k) {
      if (!used[k]) sum += static_cast<W>(dy.data<T>()[k]);
    }
    fill->scalar<T>() = static_cast<T>(sum);
    return OkStatus();
  }
};

Status FillShape(ShapeContext& c) {
  PartialShape indices, values, shape, fill;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &indices));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &values));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 1, &shape));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 0, &fill));
  int64_t n = 0, rank = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(indices.dim(0), values.dim(0), &n));
  RETURN_IF_ERROR(ShapeContext::MergeDim(indices.dim(1), shape.dim(0), &rank));
  ASSIGN_OR_RETURN(const PartialShape dense, c.ConstantAsShape(2));
  c.set_output(0, PartialShape({-1, rank}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({dense.rank_known() && dense.rank() > 0 ? dense.dim(0) : -1}));
  c.set_output(3, PartialShape({n}));
  return OkStatus();
}

Status FillGradShape(ShapeContext& c) {
  PartialShape map, dy;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &map));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &dy));
  c.set_output(0, map);
  c.set_output(1, Shape());
  return OkStatus();
}

Status RaggedFillShape(ShapeContext& c) {
  PartialShape ids, values, rows, fill;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 1, &ids));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &values));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &rows));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(3), 0, &fill));
  int64_t n = 0, count = -1;
  RETURN_IF_ERROR(ShapeContext::MergeDim(ids.dim(0), values.dim(0), &n));
  c.ConstantInt(2, &count);
  c.set_output(0, PartialShape({-1}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({count < 0 ? -1 : count}));
  c.set_output(3, PartialShape({n}));
  return OkStatus();
}

Status RaggedFillGrad(GradContext& g) {
  Node* node = g.Add("RaggedFillEmptyRowsGrad", {g.output(3), g.dy(1)});
  if (node == nullptr) return g.status();
  g.set_dx(1, Output(node, 0));
  g.set_dx(3, Output(node, 1));
  return g.status();
}

Status FillGrad(GradContext& g) {
  Node* node = g.Add("SparseFillEmptyRowsGrad", {g.output(3), g.dy(1)});
  if (node == nullptr) return g.status();
  g.set_dx(1, Output(node, 0));
  g.set_dx(3, Output(node, 1));
  return g.status();
}

OP("SparseFillEmptyRows")
    .Input("indices: int64")
    .Input("values: T")
    .Input("dense_shape: int64")
    .Input("default_value: T")
    .Output("output_indices: int64")
    .Output("output_values: T")
    .Output("empty_row_indicator: bool")
    .Output("reverse_index_map: int64")
    .Attr("T: type")
    .Shape(FillShape)
    .Gradient(FillGrad)
    .Cpu(SparseFillEmptyRowsCpu)
    .Doc("A sparse tensor with an entry in each row that had none.");

OP("RaggedFillEmptyRows")
    .Input("value_rowids: int64")
    .Input("values: T")
    .Input("nrows: int64")
    .Input("default_value: T")
    .Output("output_value_rowids: int64")
    .Output("output_values: T")
    .Output("empty_row_indicator: bool")
    .Output("reverse_index_map: int64")
    .Attr("T: type")
    .Shape(RaggedFillShape)
    .Gradient(RaggedFillGrad)
    .Cpu(RaggedFillEmptyRowsCpu)
    .Doc("A ragged tensor with a value in each row that had none.");

#define FILL_GRAD(Name, doc)                             \
  OP(Name)                                               \
      .Input("reverse_index_map: int64")                 \
      .Input("grad_values: T")                           \
      .Output("d_values: T")                             \
      .Output("d_default_value: T")                      \
      .Attr("T: type")                                   \
      .Shape(FillGradShape)                              \
      .Cpu<SparseFillEmptyRowsGradKernel>(NumberTypes{}) \
      .Doc(doc)
FILL_GRAD("SparseFillEmptyRowsGrad", "The gradient of SparseFillEmptyRows.");
FILL_GRAD("RaggedFillEmptyRowsGrad", "The gradient of RaggedFillEmptyRows.");
#undef FILL_GRAD

}  // namespace
}  // namespace millstream
