// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_join.h"
#include "millstream/framework/op.h"

// Bincount for vectors, and row by row for matrices: dense, sparse and ragged ones.
namespace millstream {
namespace {

// What the three ops do once they know the row of each value.
template <typename T, typename I>
class RowCounter : public Kernel {
 public:
  explicit RowCounter(KernelInit& init) : binary_(init.Attr<bool>("binary_output")) {}

 protected:
  // Reads the number of bins, makes an output of [bins] (rows < 0) or [rows, bins], zero.
  StatusOr<T*> Start(KernelContext& ctx, int size_input, int64_t rows, int64_t* bins) const {
    const Tensor& size = ctx.input(size_input);
    RETURN_IF_ERROR(CheckSize(size));
    *bins = size.scalar<I>();
    if (*bins < 0) return errors::InvalidArgument("size (", *bins, ") must be non-negative");
    std::vector<int64_t> dims = {*bins};
    if (rows >= 0) dims.insert(dims.begin(), rows);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::fill_n(out->data<T>(), out->num_elements(), T(0));
    return out->data<T>();
  }
  static Status CheckSize(const Tensor& size) {
    if (size.rank() == 0) return OkStatus();
    return errors::InvalidArgument("Shape must be rank 0 but is rank ", size.rank());
  }
  static Status CheckWeights(const Tensor& weights, const Tensor& values) {
    if (weights.num_elements() == 0 || weights.shape() == values.shape()) return OkStatus();
    return errors::InvalidArgument(
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
        "acts as all weights equal to 1. Received ",
        weights.shape().ToString());
  }
  static Status CheckValues(const Tensor& values) {
    for (const I v : values.flat<I>())
      if (v < 0) return errors::InvalidArgument("Input arr must be non-negative!");
    return OkStatus();
  }
  // Value i of `values`, whose bins begin at `row`.
  void Count(const Tensor& values, const Tensor& weights, int64_t i, int64_t bins, T* row) const {
    const I bin = values.data<I>()[i];
    if (bin >= bins) return;
    if (binary_)
      row[bin] = T(1);
    else
      row[bin] += weights.num_elements() > 0 ? weights.data<T>()[i] : T(1);
  }

 private:
  const bool binary_;
};

template <typename T, typename I>
class DenseBincount final : public RowCounter<T, I> {
 public:
  using RowCounter<T, I>::RowCounter;
  Status Compute(KernelContext& ctx) override {
    const Tensor &values = ctx.input(0), &weights = ctx.input(2);
    if (values.rank() > 2) return errors::InvalidArgument("Shape must be at most rank 2 but is rank ", values.rank());
    RETURN_IF_ERROR(this->CheckWeights(weights, values));
    RETURN_IF_ERROR(this->CheckValues(values));
    int64_t bins = 0;
    const bool matrix = values.rank() == 2;
    ASSIGN_OR_RETURN(T * out, this->Start(ctx, 1, matrix ? values.dim(0) : -1, &bins));
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      this->Count(values, weights, i, bins, matrix ? out + i / values.dim(1) * bins : out);
    }
    return OkStatus();
  }
};

template <typename T, typename I>
class SparseBincount final : public RowCounter<T, I> {
 public:
  using RowCounter<T, I>::RowCounter;
  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2), &weights = ctx.input(4);
    if (shape.rank() != 1 || shape.dim(0) < 1 || indices.rank() != 2 || values.rank() != 1 ||
        indices.dim(0) != values.dim(0) || indices.dim(1) != shape.dim(0)) {
      return errors::InvalidArgument("Malformed sparse tensor: indices ", indices.shape().ToString(), ", values ",
                                     values.shape().ToString(), ", dense_shape ", shape.shape().ToString());
    }
    RETURN_IF_ERROR(this->CheckWeights(weights, values));
    RETURN_IF_ERROR(this->CheckValues(values));
    int64_t bins = 0;
    const int64_t rank = shape.dim(0), rows = shape.data<int64_t>()[0];
    if (rows < 0) return errors::InvalidArgument("dense_shape must not be negative: ", rows);
    ASSIGN_OR_RETURN(T * out, this->Start(ctx, 3, rank == 1 ? -1 : rows, &bins));
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const int64_t* index = indices.data<int64_t>() + i * rank;
      for (int64_t d = 0; d < rank; ++d) {
        if (index[d] >= 0 && index[d] < shape.data<int64_t>()[d]) continue;
        return errors::InvalidArgument("Sparse index tuple indices[", i, ", :] = [",
                                       absl::StrJoin(std::span(index, static_cast<size_t>(rank)), ", "),
                                       "] is out of bounds");
      }
      const int64_t row = index[0];
      this->Count(values, weights, i, bins, rank == 1 ? out : out + row * bins);
    }
    return OkStatus();
  }
};

template <typename T, typename I>
class RaggedBincount final : public RowCounter<T, I> {
 public:
  using RowCounter<T, I>::RowCounter;
  Status Compute(KernelContext& ctx) override {
    const Tensor &splits = ctx.input(0), &values = ctx.input(1), &weights = ctx.input(3);
    RETURN_IF_ERROR(this->CheckSize(ctx.input(2)));
    const int64_t rows = splits.num_elements() - 1;
    if (rows < 0) return errors::InvalidArgument("Splits must be non-empty");
    const int64_t* split = splits.data<int64_t>();
    if (split[0] != 0) return errors::InvalidArgument("Splits must start with 0, not with ", split[0]);
    if (split[rows] != values.num_elements()) {
      return errors::InvalidArgument("Splits must end with the number of values, got ", split[rows], " instead of ",
                                     values.num_elements());
    }
    if (!std::is_sorted(split, split + rows + 1)) return errors::InvalidArgument("Splits must not decrease");
    if (weights.num_elements() > 0 && weights.num_elements() != values.num_elements()) {
      return errors::InvalidArgument("`weights` must have as many elements as `values`");
    }
    for (const I v : values.flat<I>())
      if (v < 0) return errors::InvalidArgument("Input must be non-negative");
    int64_t bins = 0;
    ASSIGN_OR_RETURN(T * out, this->Start(ctx, 2, rows, &bins));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = split[row]; i < split[row + 1]; ++i) this->Count(values, weights, i, bins, out + row * bins);
    }
    return OkStatus();
  }
};

StatusOr<int64_t> Bins(const ShapeContext& c, int i) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &scalar));
  int64_t bins = -1;
  if (c.ConstantInt(i, &bins) && bins < 0) return errors::InvalidArgument("size (", bins, ") must be non-negative");
  return bins;
}

Status DenseShape(ShapeContext& c) {
  PartialShape input;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(0), 2, &input));
  ASSIGN_OR_RETURN(const int64_t bins, Bins(c, 1));
  if (!input.rank_known()) return OkStatus();
  c.set_output(0, input.rank() == 2 ? PartialShape({input.dim(0), bins}) : PartialShape({bins}));
  return OkStatus();
}

Status SparseShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t bins, Bins(c, 3));
  std::vector<int64_t> shape;
  if (!c.ConstantInts(2, &shape) || shape.empty()) return OkStatus();
  c.set_output(0, shape.size() == 1 ? PartialShape({bins}) : PartialShape({shape[0], bins}));
  return OkStatus();
}

Status RaggedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t bins, Bins(c, 2));
  c.set_output(0, PartialShape({-1, bins}));
  return OkStatus();
}

using WeightTypes = Types<int32_t, int64_t, float, double>;
void BincountAttrs(OpBuilder& op) {
  op.Output("output: T")
      .Attr("Tidx: {int32, int64}")
      .Attr("T: {int32, int64, float, double}")
      .Attr("binary_output: bool = false")
      .NotDifferentiable();
}

OP("DenseBincount")
    .Input("input: Tidx")
    .Input("size: Tidx")
    .Input("weights: T")
    .With(BincountAttrs)
    .Shape(DenseShape)
    .Cpu2<DenseBincount>(WeightTypes{}, "T", IndexTypes{}, "Tidx")
    .Doc("Bincount of a vector, or of each row of a matrix; with binary_output whether a value occurs.");

OP("SparseBincount")
    .Input("indices: int64")
    .Input("values: Tidx")
    .Input("dense_shape: int64")
    .Input("size: Tidx")
    .Input("weights: T")
    .With(BincountAttrs)
    .Shape(SparseShape)
    .Cpu2<SparseBincount>(WeightTypes{}, "T", IndexTypes{}, "Tidx")
    .Doc("DenseBincount of the values of a sparse tensor.");

OP("RaggedBincount")
    .Input("splits: int64")
    .Input("values: Tidx")
    .Input("size: Tidx")
    .Input("weights: T")
    .With(BincountAttrs)
    .Shape(RaggedShape)
    .Cpu2<RaggedBincount>(WeightTypes{}, "T", IndexTypes{}, "Tidx")
    .Doc("Bincount of each row of a ragged matrix.");

}  // namespace
}  // namespace millstream
