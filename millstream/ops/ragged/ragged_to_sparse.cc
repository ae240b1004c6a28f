// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/ragged/ragged.h"

namespace millstream {
namespace {

Status CheckNested(const std::vector<Splits>& nested, int64_t values) {
  for (size_t d = 0; d < nested.size(); ++d) {
    const Splits& splits = nested[d];
    if (splits.empty()) return errors::InvalidArgument("ragged splits may not be empty.");
    if (splits[0] != 0) return errors::InvalidArgument("First value of ragged splits must be 0.");
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) {
        return errors::InvalidArgument("Ragged splits should be non decreasing, but we got ", splits[i - 1],
                                       " followed by ", splits[i]);
      }
    }
    const int64_t below = d + 1 < nested.size() ? static_cast<int64_t>(nested[d + 1].size()) - 1 : values;
    if (splits.back() != below) {
      return errors::InvalidArgument(
          "Final value of ragged splits must match the length the corresponding ragged values.");
    }
  }
  return OkStatus();
}

// Coordinates of all values: in the ragged dimensions from the splits, in the inner ones by counting.
class Coordinates {
 public:
  Coordinates(const std::vector<Splits>& nested, const Shape& values, int64_t* to)
      : nested_(nested),
        values_(values),
        inner_(values.Product(1, values.rank())),
        to_(to),
        at_(nested.size() + static_cast<size_t>(values.rank())) {}
  // Rows [begin, end) of ragged dimension `depth`.
  void Walk(size_t depth, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      at_[depth] = i - begin;
      if (depth < nested_.size()) {
        Walk(depth + 1, nested_[depth][i], nested_[depth][i + 1]);
      } else {
        WriteInner();
      }
    }
  }

 private:
  void WriteInner() {
    const size_t outer = nested_.size() + 1;
    for (int64_t k = 0; k < inner_; ++k) {
      int64_t rest = k;
      for (int d = values_.rank() - 1; d >= 1; rest /= values_.dim(d--)) {
        at_[outer + static_cast<size_t>(d) - 1] = rest % values_.dim(d);
      }
      to_ = std::copy(at_.begin(), at_.end(), to_);
    }
  }
  const std::vector<Splits>& nested_;
  const Shape& values_;
  const int64_t inner_;
  int64_t* to_;
  std::vector<int64_t> at_;
};

Status RaggedToSparseCpu(KernelContext& ctx) {
  const int ragged = ctx.num_inputs() - 1;
  const Tensor& values = ctx.input(ragged);
  if (values.rank() == 0) return errors::InvalidArgument("rt_dense_values must have at least one dimension");
  const std::vector<Splits> nested = ReadSplits(ctx, 0, ragged);
  RETURN_IF_ERROR(CheckNested(nested, values.dim(0)));
  const int64_t rank = ragged + values.rank();
  const std::array<int64_t, 2> dims = {values.num_elements(), rank};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, shape));
  Coordinates(nested, values.shape(), indices->data<int64_t>()).Walk(0, 0, static_cast<int64_t>(nested[0].size()) - 1);
  ctx.set_output(1, values.Reshaped(Shape({values.num_elements()})));
  ASSIGN_OR_RETURN(Tensor * dense, ctx.AllocateOutput(2, Shape({rank})));
  int64_t* size = dense->data<int64_t>();
  *size++ = static_cast<int64_t>(nested[0].size()) - 1;
  for (const Splits& splits : nested) {
    int64_t widest = 0;
    for (size_t i = 1; i < splits.size(); ++i) widest = std::max(widest, splits[i] - splits[i - 1]);
    *size++ = widest;
  }
  for (int d = 1; d < values.rank(); ++d) *size++ = values.dim(d);
  return OkStatus();
}

Status ToSparseShape(ShapeContext& c) {
  const int ragged = c.num_inputs() - 1;
  for (int i = 0; i < ragged; ++i) {
    PartialShape splits;
    RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 1, &splits));
  }
  PartialShape values;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(ragged), 1, &values));
  const int64_t rank = values.rank_known() ? ragged + values.rank() : -1;
  const int64_t n = values.rank_known() ? values.num_elements() : -1;
  c.set_output(0, PartialShape({n, rank}));
  c.set_output(1, PartialShape({n}));
  c.set_output(2, PartialShape({rank}));
  return OkStatus();
}

Status ToSparseGrad(GradContext& g) {
  const int ragged = g.node().num_inputs() - 1;
  g.set_dx(ragged, g.Op("Reshape", {g.dy(1), g.Op("Shape", {g.input(ragged)})}));
  return g.status();
}

OP("RaggedTensorToSparse")
    .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
    .Input("rt_dense_values: T")
    .Output("sparse_indices: int64")
    .Output("sparse_values: T")
    .Output("sparse_dense_shape: int64")
    .Attr("RAGGED_RANK: int >= 1")
    .Attr("T: type")
    .Attr("Tsplits: {int32, int64} = DT_INT64")
    .Shape(ToSparseShape)
    .Gradient(ToSparseGrad)
    .Cpu(RaggedToSparseCpu)
    .Doc("A ragged tensor as a sparse one.");

}  // namespace
}  // namespace millstream
