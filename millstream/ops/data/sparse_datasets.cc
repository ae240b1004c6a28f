// SPDX-License-Identifier: Apache-2.0
// Datasets whose elements are sparse tensors: indices, values, shape.
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/elements/copy_rows.h"
#include "millstream/ops/variants/tensor_box.h"

namespace millstream {
namespace {

// The rows of a sparse tensor.
class SparseSliceDataset final : public Dataset {
 public:
  SparseSliceDataset(Tensor indices, Tensor values, Tensor shape)
      : Dataset({DType::kInt64, values.dtype(), DType::kInt64},
                {PartialShape({-1, shape.dim(0) - 1}), PartialShape({-1}), PartialShape({shape.dim(0) - 1})}),
        indices_(std::move(indices)),
        values_(std::move(values)),
        shape_(std::move(shape)) {}
  int64_t CountElements() const override { return shape_.data<int64_t>()[0]; }
  StatusOr<IteratorPtr> NewIterator(const StepContext&) const override {
    return std::make_unique<Iterator>(indices_, values_, shape_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(Tensor indices, Tensor values, Tensor shape)
        : indices_(std::move(indices)), values_(std::move(values)), shape_(std::move(shape)) {}
    bool Ready() override { return true; }
    Status Next(const StepContext&, Element* element, bool* end) override {
      *end = row_ == shape_.data<int64_t>()[0];
      if (*end) return OkStatus();
      const int64_t rank = indices_.dim(1), begin = at_;
      const int64_t* from = indices_.data<int64_t>();
      while (at_ < values_.dim(0) && from[at_ * rank] == row_) ++at_;
      ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, Shape({at_ - begin, rank - 1})));
      int64_t* to = indices.data<int64_t>();
      for (int64_t i = begin; i < at_; ++i) to = std::copy(from + i * rank + 1, from + (i + 1) * rank, to);
      ASSIGN_OR_RETURN(Tensor values, Tensor::Make(values_.dtype(), Shape({at_ - begin})));
      CopyElements(values_, begin, at_ - begin, &values, 0);
      ASSIGN_OR_RETURN(Tensor shape, Tensor::Make(DType::kInt64, Shape({rank - 1})));
      CopyElements(shape_, 1, rank - 1, &shape, 0);
      *element = {std::move(indices), std::move(values), std::move(shape)};
      ++row_;
      return OkStatus();
    }

   private:
    const Tensor indices_, values_, shape_;
    int64_t row_ = 0, at_ = 0;
  };
  const Tensor indices_, values_, shape_;
};

Status MakeSparseSlices(KernelContext& ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
  if (indices.rank() != 2)
    return errors::InvalidArgument("Input indices must be a matrix. Got: ", indices.shape().ToString());
  if (values.rank() != 1)
    return errors::InvalidArgument("Input values must be a vector. Got: ", values.shape().ToString());
  if (shape.rank() != 1)
    return errors::InvalidArgument("Input shape must be a vector. Got: ", shape.shape().ToString());
  if (values.dim(0) != indices.dim(0)) {
    return errors::InvalidArgument("Number of values must match first dimension of indices. Got ", values.dim(0),
                                   " values, indices shape: ", indices.shape().ToString());
  }
  if (shape.dim(0) != indices.dim(1)) {
    return errors::InvalidArgument("Number of dimensions must match second dimension of indices. Got ", shape.dim(0),
                                   " dimensions, indices shape: ", indices.shape().ToString());
  }
  if (shape.dim(0) == 0) return errors::InvalidArgument("The shape argument requires at least one element.");
  const int64_t rank = shape.dim(0);
  int64_t last = 0;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const int64_t row = indices.data<int64_t>()[i * rank];
    if (row < last) {
      return errors::Unimplemented(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input "
          "is not currently supported.");
    }
    if (row >= shape.data<int64_t>()[0]) return errors::InvalidArgument("Row ", row, " is outside of the shape");
    last = row;
  }
  if (shape.data<int64_t>()[0] < 0)
    return errors::InvalidArgument("A size must not be negative: ", shape.data<int64_t>()[0]);
  OutputDataset(ctx, MakeRef<SparseSliceDataset>(indices, values, shape));
  return OkStatus();
}

// Dense elements of differing sizes as the rows of sparse tensors, which come as SerializeSparse gives them: one
// variant of three.
class SparseBatchDataset final : public DerivedDataset {
 public:
  SparseBatchDataset(Ref<Dataset> input, int64_t size, std::vector<int64_t> row_shape)
      : DerivedDataset(std::move(input), {DType::kVariant}, {PartialShape({-1}).Concatenate(PartialShape(row_shape))}),
        size_(size),
        row_shape_(std::move(row_shape)) {}
  int64_t CountElements() const override {
    const int64_t n = input().Cardinality();
    return n < 0 ? n : n / size_ + (n % size_ != 0 ? 1 : 0);
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), size_, row_shape_, input().types()[0]);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t size, std::vector<int64_t> row_shape, DType dtype)
        : input_(std::move(input)), size_(size), row_shape_(std::move(row_shape)), dtype_(dtype) {}

    Status Next(const StepContext& step, Element* batch, bool* end) override {
      std::vector<Tensor> rows;
      while (input_ != nullptr && static_cast<int64_t>(rows.size()) < size_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element element;
        bool over = false;
        RETURN_IF_ERROR(input_->GetNext(step, &element, &over));
        if (over) {
          input_.reset();
        } else {
          RETURN_IF_ERROR(CheckRow(element[0]));
          rows.push_back(std::move(element[0]));
        }
      }
      *end = rows.empty();
      return *end ? OkStatus() : Join(rows, batch);
    }

   private:
    Status CheckRow(const Tensor& row) const {
      const bool same_rank = row.rank() == static_cast<int>(row_shape_.size());
      bool fits = same_rank;
      for (int d = 0; fits && d < row.rank(); ++d) {
        fits = row_shape_[static_cast<size_t>(d)] < 0 || row.dim(d) <= row_shape_[static_cast<size_t>(d)];
      }
      if (fits) return OkStatus();
      if (same_rank) {
        return errors::DataLoss("Input element had shape (", row.shape().ToString(),
                                ") that is larger than the row shape (", PartialShape(row_shape_).ToString(), ").");
      }
      return errors::InvalidArgument("Input element had shape (", row.shape().ToString(),
                                     ") that is incompatible with the row shape (", PartialShape(row_shape_).ToString(),
                                     ").");
    }

    Status Join(const std::vector<Tensor>& rows, Element* batch) const {
      int64_t total = 0;
      std::vector<int64_t> shape = row_shape_;
      for (const Tensor& row : rows) {
        total += row.num_elements();
        for (int d = 0; d < row.rank(); ++d) {
          if (row_shape_[static_cast<size_t>(d)] < 0)
            shape[static_cast<size_t>(d)] = std::max(shape[static_cast<size_t>(d)], row.dim(d));
        }
      }
      shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
      const auto rank = static_cast<int64_t>(shape.size());
      ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, Shape({total, rank})));
      ASSIGN_OR_RETURN(Tensor values, Tensor::Make(dtype_, Shape({total})));
      int64_t at = 0;
      for (size_t r = 0; r < rows.size(); ++r) {
        const Tensor& row = rows[r];
        CopyElements(row, 0, row.num_elements(), &values, at);
        for (int64_t k = 0; k < row.num_elements(); ++k, ++at) {
          int64_t* place = indices.data<int64_t>() + at * rank;
          place[0] = static_cast<int64_t>(r);
          int64_t rest = k;
          for (int d = row.rank() - 1; d >= 0; rest /= row.dim(d--)) place[d + 1] = rest % row.dim(d);
        }
      }
      Tensor parts(DType::kVariant, Shape({3}));
      parts.data<Variant>()[0] = Variant(MakeRef<TensorBox>(std::move(indices)));
      parts.data<Variant>()[1] = Variant(MakeRef<TensorBox>(std::move(values)));
      parts.data<Variant>()[2] = Variant(MakeRef<TensorBox>(Tensor::Vector(shape)));
      *batch = {std::move(parts)};
      return OkStatus();
    }

    IteratorPtr input_;  // null once it has ended
    const int64_t size_;
    const std::vector<int64_t> row_shape_;
    const DType dtype_;
  };

  const int64_t size_;
  const std::vector<int64_t> row_shape_;
};

Status MakeSparseBatch(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  if (input->types().size() != 1) {
    return errors::InvalidArgument("DenseToSparseBatchDataset only supports inputs with a single component.");
  }
  ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
  if (size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
  if (ctx.input(2).rank() != 1) return errors::InvalidArgument("row_shape must be a vector");
  const auto dims = ctx.input(2).flat<int64_t>();
  ASSIGN_OR_RETURN(const PartialShape row_shape, PartialShape::Make(std::vector<int64_t>(dims.begin(), dims.end())));
  OutputDataset(ctx, MakeRef<SparseBatchDataset>(std::move(input), size, row_shape.dims()));
  return OkStatus();
}

OP("SparseTensorSliceDataset")
    .Input("indices: int64")
    .Input("values: Tvalues")
    .Input("dense_shape: int64")
    .Output("handle: variant")
    .Attr("Tvalues: type")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu(MakeSparseSlices)
    .Doc("The rows of a sparse tensor as a dataset of sparse tensors.");

#define DENSE_TO_SPARSE_BATCH(Name)            \
  OP(Name)                                     \
      .Input("input_dataset: variant")         \
      .Input("batch_size: int64")              \
      .Input("row_shape: int64")               \
      .Output("handle: variant")               \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Shape(ScalarShape)                      \
      .Cpu(MakeSparseBatch)                    \
      .Doc("Batches of dense elements of differing sizes, as sparse tensors.")
DENSE_TO_SPARSE_BATCH("DenseToSparseBatchDataset");
DENSE_TO_SPARSE_BATCH("ExperimentalDenseToSparseBatchDataset");
#undef DENSE_TO_SPARSE_BATCH

}  // namespace
}  // namespace millstream
