// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <map>

#include "millstream/framework/op.h"
#include "millstream/ops/elements/segment.h"

// How often each number comes in each row, without the zeros between them.
namespace millstream {
namespace {

template <typename W>
class Counter {
 public:
  explicit Counter(KernelInit& init)
      : min_(init.Attr<int64_t>("minlength")),
        max_(init.Attr<int64_t>("maxlength")),
        binary_(init.Attr<bool>("binary_output")) {}

  // Entry i is in row row(i) of `rows`; one row without a dimension of its own if `flat`. `weights` may be empty.
  template <typename RowOf>
  Status Run(KernelContext& ctx, const Tensor& values, const Tensor& weights, int64_t rows, bool flat,
             RowOf row) const {
    if (weights.num_elements() > 0 && !(weights.shape() == values.shape())) {
      return errors::InvalidArgument("Weights and values must have the same shape. Weight shape: ",
                                     weights.shape().ToString(), "; values shape: ", values.shape().ToString());
    }
    std::map<std::pair<int64_t, int64_t>, W> counts;
    int64_t largest = 0;
    const std::vector<int64_t> numbers = ReadIds(values);
    for (const int64_t n : numbers) {
      if (n < 0) return errors::InvalidArgument("Input values must all be non-negative");
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (max_ >= 0 && numbers[i] >= max_) continue;
      W& count = counts[{row(static_cast<int64_t>(i)), numbers[i]}];
      if (binary_)
        count = 1;
      else
        count += weights.num_elements() > 0 ? weights.data<W>()[i] : W(1);
      largest = std::max(largest, numbers[i]);
    }
    const auto n = static_cast<int64_t>(counts.size());
    const int64_t rank = flat ? 1 : 2;
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({n, rank})));
    ASSIGN_OR_RETURN(Tensor * totals, ctx.AllocateOutput(1, Shape({n})));
    ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(2, Shape({rank})));
    int64_t* at = indices->data<int64_t>();
    W* to = totals->data<W>();
    for (const auto& [place, count] : counts) {
      if (!flat) *at++ = place.first;
      *at++ = place.second;
      *to++ = count;
    }
    if (!flat) shape->data<int64_t>()[0] = rows;
    shape->data<int64_t>()[rank - 1] =
        max_ >= 0 ? max_ : std::max(largest == std::numeric_limits<int64_t>::max() ? largest : largest + 1, min_);
    return OkStatus();
  }

 private:
  const int64_t min_, max_;
  const bool binary_;
};

template <typename W>
class DenseCount : public Kernel {
 public:
  explicit DenseCount(KernelInit& init) : counter_(init) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    if (values.rank() != 1 && values.rank() != 2) {
      return errors::InvalidArgument("Input must be a 1 or 2-dimensional tensor. Got: ", values.shape().ToString());
    }
    const bool flat = values.rank() == 1;
    if (!flat && values.dim(0) == 0) return errors::InvalidArgument("Invalid input: Shapes dimension cannot be 0.");
    const int64_t width = flat ? 1 : values.dim(1);
    return counter_.Run(ctx, values, ctx.input(1), flat ? 1 : values.dim(0), flat,
                        [&](int64_t i) { return flat ? 0 : i / width; });
  }

 private:
  const Counter<W> counter_;
};

Status CheckEntries(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  if (indices.rank() != 2) {
    return errors::InvalidArgument("Input indices must be a 2-dimensional tensor. Got: ", indices.shape().ToString());
  }
  if (values.rank() != 1)
    return errors::InvalidArgument("Input values must be a vector. Got: ", values.shape().ToString());
  if (shape.rank() != 1)
    return errors::InvalidArgument("Input shape must be a vector. Got: ", shape.shape().ToString());
  if (values.dim(0) != indices.dim(0)) {
    return errors::InvalidArgument("Number of values must match first dimension of indices.Got ", values.dim(0),
                                   " values, indices shape: ", indices.shape().ToString());
  }
  if (shape.dim(0) != indices.dim(1)) {
    return errors::InvalidArgument("Number of dimensions must match second dimension of indices.Got ", shape.dim(0),
                                   " dimensions, indices shape: ", indices.shape().ToString());
  }
  if (shape.dim(0) == 0) return errors::InvalidArgument("The shape argument requires at least one element.");
  const int64_t *at = indices.data<int64_t>(), *size = shape.data<int64_t>();
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    for (int64_t d = 0; d < shape.dim(0); ++d, ++at) {
      if (*at < 0 || *at >= size[d]) {
        return errors::InvalidArgument("Invalid index value at ", i, ": dimension ", d, " has value ", *at,
                                       " which is not in [0, ", size[d], ") (as given by dense shape ",
                                       shape.DebugString());
      }
    }
  }
  return OkStatus();
}

template <typename W>
class SparseCount : public Kernel {
 public:
  explicit SparseCount(KernelInit& init) : counter_(init) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
    RETURN_IF_ERROR(CheckEntries(indices, values, shape));
    const int64_t rank = shape.dim(0);
    const int64_t rows = rank == 1 ? 1 : shape.data<int64_t>()[0];
    if (rows <= 0 || rows >= std::numeric_limits<int32_t>::max()) {
      return errors::InvalidArgument("Cannot allocate ", rows, " batches, is the dense shape too wide?");
    }
    const int64_t* at = indices.data<int64_t>();
    return counter_.Run(ctx, values, ctx.input(3), rows, rank == 1,
                        [=](int64_t i) { return rank == 1 ? 0 : at[i * rank]; });
  }

 private:
  const Counter<W> counter_;
};

template <typename W>
class RaggedCount : public Kernel {
 public:
  explicit RaggedCount(KernelInit& init) : counter_(init) {}
  Status Compute(KernelContext& ctx) override {
    const std::vector<int64_t> splits = ReadIds(ctx.input(0));
    const Tensor& values = ctx.input(1);
    if (splits.size() < 2) return errors::InvalidArgument("Must provide at least 2 elements for the splits argument");
    if (splits[0] != 0) return errors::InvalidArgument("Splits must start with 0, not with ", splits[0]);
    if (splits.back() != values.num_elements()) {
      return errors::InvalidArgument("Splits must end with the number of values, got ", splits.back(), " instead of ",
                                     values.num_elements());
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) return errors::InvalidArgument("Splits must not fall");
    }
    size_t row = 0;
    return counter_.Run(ctx, values, ctx.input(2), static_cast<int64_t>(splits.size()) - 1, false, [&](int64_t i) {
      while (i >= splits[row]) ++row;
      return static_cast<int64_t>(row) - 1;
    });
  }

 private:
  const Counter<W> counter_;
};

Status DenseShape(ShapeContext& c) {
  PartialShape values;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &values));
  const int64_t rank = values.rank_known() ? values.rank() : -1;
  c.set_output(0, PartialShape({-1, rank}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({rank}));
  return OkStatus();
}

Status SparseShape(ShapeContext& c) {
  PartialShape indices;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &indices));
  c.set_output(0, PartialShape({-1, indices.dim(1)}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({indices.dim(1)}));
  return OkStatus();
}

Status RaggedShape(ShapeContext& c) {
  c.set_output(0, PartialShape({-1, 2}));
  c.set_output(1, PartialShape({-1}));
  c.set_output(2, PartialShape({2}));
  return OkStatus();
}

void CountArgs(OpBuilder& op) {
  op.Input("weights: output_type")
      .Output("output_indices: int64")
      .Output("output_values: output_type")
      .Output("output_dense_shape: int64")
      .Attr("T: {int32, int64}")
      .Attr("minlength: int >= -1 = -1")
      .Attr("maxlength: int >= -1 = -1")
      .Attr("binary_output: bool")
      .Attr("output_type: {int32, int64, float, double}")
      .NotDifferentiable();
}
using CountTypes = Types<int32_t, int64_t, float, double>;
OP("DenseCountSparseOutput")
    .Input("values: T")
    .With(CountArgs)
    .Shape(DenseShape)
    .Cpu<DenseCount>(CountTypes{}, "output_type")
    .Doc("How often each number comes in a vector, or in each row of a matrix, as a sparse tensor.");
OP("SparseCountSparseOutput")
    .Input("indices: int64")
    .Input("values: T")
    .Input("dense_shape: int64")
    .With(CountArgs)
    .Shape(SparseShape)
    .Cpu<SparseCount>(CountTypes{}, "output_type")
    .Doc("How often each number comes in each row of a sparse tensor, as a sparse tensor.");
OP("RaggedCountSparseOutput")
    .Input("splits: int64")
    .Input("values: T")
    .With(CountArgs)
    .Shape(RaggedShape)
    .Cpu<RaggedCount>(CountTypes{}, "output_type")
    .Doc("How often each number comes in each row of a ragged tensor, as a sparse tensor.");

}  // namespace
}  // namespace millstream
