// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/batch.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {
namespace {

// Batches of elements that are padded to one shape: as asked for, or where that says -1 to the largest of the batch.
struct Padding {
  std::vector<Dims> shapes;
  std::vector<Tensor> values;
};

// Copies `t` into the corner of row `row` of `batch`. REQUIRES: it fits.
void CopyCorner(const Tensor& t, const std::vector<int64_t>& sizes, int64_t row, Tensor* batch) {
  int64_t stride = 1, total = 1;
  for (const int64_t n : sizes) total *= n;
  std::vector<int64_t> strides(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) strides[d] = stride;
  std::vector<int64_t> at(sizes.size(), 0);
  const int rank = t.rank();
  const int64_t run = rank == 0 ? 1 : t.dim(rank - 1), runs = run == 0 ? 0 : t.num_elements() / run;
  for (int64_t r = 0; r < runs; ++r) {
    int64_t to = row * total;
    for (int d = 0; d < rank - 1; ++d) to += at[d] * strides[d];
    CopyElements(t, r * run, run, batch, to);
    for (int d = rank - 2; d >= 0 && ++at[d] == t.dim(d); --d) at[d] = 0;
  }
}

StatusOr<Tensor> StackPadded(const std::vector<Element>& elements, size_t component, const Padding& padding) {
  const Dims& wanted = padding.shapes[component];
  std::vector<int64_t> sizes(wanted.begin(), wanted.end());
  for (const Element& e : elements) {
    const Tensor& t = e[component];
    if (t.rank() != static_cast<int>(wanted.size())) {
      return errors::InvalidArgument(
          "All elements in a batch must have the same rank as the padded shape for component", component,
          ": expected rank ", wanted.size(), " but got element with rank ", t.rank());
    }
    for (int d = 0; d < t.rank(); ++d) {
      if (wanted[d] < 0)
        sizes[d] = std::max(sizes[d], t.dim(d));
      else if (t.dim(d) > wanted[d]) {
        return errors::DataLoss("Attempted to pad to a smaller size than the input element.");
      }
    }
  }
  for (int64_t& n : sizes) n = std::max<int64_t>(n, 0);
  std::vector<int64_t> dims{static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  const Tensor& value = padding.values[component];
  ASSIGN_OR_RETURN(Tensor batch, Tensor::Make(value.dtype(), shape));
  for (int64_t i = 0; i < shape.num_elements(); ++i) CopyElements(value, 0, 1, &batch, i);
  for (size_t row = 0; row < elements.size(); ++row) {
    CopyCorner(elements[row][component], sizes, static_cast<int64_t>(row), &batch);
  }
  return batch;
}

class PaddedBatchDataset final : public DerivedDataset {
 public:
  PaddedBatchDataset(Ref<Dataset> input, int64_t size, bool drop, Padding padding, std::vector<DType> types,
                     std::vector<PartialShape> shapes)
      : DerivedDataset(std::move(input), std::move(types), std::move(shapes)),
        size_(size),
        drop_remainder_(drop),
        padding_(std::move(padding)) {}

  int64_t CountElements() const override { return BatchCount(input().Cardinality(), size_, drop_remainder_); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), *this);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, const PaddedBatchDataset& dataset)
        : input_(std::move(input)), dataset_(Ref<const PaddedBatchDataset>::Share(&dataset)) {}
    Status Next(const StepContext& step, Element* batch, bool* end) override {
      std::vector<Element> elements;
      RETURN_IF_ERROR(TakeElements(step, dataset_->size_, dataset_->drop_remainder_, &input_, &elements, end));
      if (*end) return OkStatus();
      for (size_t i = 0; i < elements[0].size(); ++i) {
        ASSIGN_OR_RETURN(Tensor component, StackPadded(elements, i, dataset_->padding_));
        batch->push_back(std::move(component));
      }
      return OkStatus();
    }

   private:
    IteratorPtr input_;  // null once it has ended
    const Ref<const PaddedBatchDataset> dataset_;
  };

  const int64_t size_;
  const bool drop_remainder_;
  const Padding padding_;
};

class MakePaddedBatch final : public Kernel {
 public:
  explicit MakePaddedBatch(KernelInit& init)
      : count_(init.Attr<int>("N")),
        types_(init.Attr<std::vector<DType>>("Toutput_types")),
        shapes_(init.Attr<std::vector<PartialShape>>("output_shapes")) {
    if (static_cast<int>(types_.size()) != count_ || static_cast<int>(shapes_.size()) != count_) {
      init.Fail(errors::InvalidArgument("There must be as many shapes, types and padding values"));
    }
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
    if (size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
    bool drop = false;
    if (ctx.num_inputs() > 2 + 2 * count_) {
      ASSIGN_OR_RETURN(drop, ScalarInput<bool>(ctx, 2 + 2 * count_, "drop_remainder"));
    }
    if (input->types().size() != static_cast<size_t>(count_)) {
      return errors::InvalidArgument("Number of padded shapes (", count_,
                                     ") must match the number of components in the input dataset's elements (",
                                     input->types().size(), ")");
    }
    Padding padding;
    for (int i = 0; i < count_; ++i) {
      Dims shape;
      RETURN_IF_ERROR(ReadIntVector(ctx.input(2 + i), "All padded shapes", &shape));
      for (const int64_t n : shape) {
        if (n < -1) return errors::InvalidArgument("padded_shapes must be -1 or non-negative");
      }
      const Tensor& value = ctx.input(2 + count_ + i);
      if (value.rank() != 0) return errors::InvalidArgument("All padding values must be scalars");
      if (value.dtype() != input->types()[i]) {
        return errors::InvalidArgument("Mismatched type between padding value ", i, " and input dataset's component ",
                                       i, ": ", DTypeName(value.dtype()), " vs. ", DTypeName(input->types()[i]));
      }
      padding.shapes.push_back(std::move(shape));
      padding.values.push_back(value);
    }
    OutputDataset(ctx, MakeRef<PaddedBatchDataset>(std::move(input), size, drop, std::move(padding), types_, shapes_));
    return OkStatus();
  }

 private:
  const int count_;
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

OP("PaddedBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("padded_shapes: N * int64")
    .Input("padding_values: Toutput_types")
    .Output("handle: variant")
    .Attr("Toutput_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakePaddedBatch>()
    .Doc("A dataset of batches of elements that are padded to one shape.");

OP("PaddedBatchDatasetV2")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("padded_shapes: N * int64")
    .Input("padding_values: Toutput_types")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
    .Attr("parallel_copy: bool = false")
    .Attr("Toutput_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("N: int >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakePaddedBatch>()
    .Doc("As PaddedBatchDataset; a smaller batch at the end is kept or dropped.");

}  // namespace
}  // namespace millstream
