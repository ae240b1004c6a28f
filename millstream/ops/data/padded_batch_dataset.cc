// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// Puts `value` n times.
void Fill(const Tensor& value, Tensor* to, int64_t n) {
  if (n == 0) return;
  CopyElements(value, 0, 1, to, 0);
  for (int64_t done = 1; done < n; done *= 2) CopyElements(*to, 0, std::min(done, n - done), to, done);
}

// Copies a tensor into the corner of a larger one that begins at `to_offset` and has the sizes `padded`.
void CopyCorner(const Tensor& from, const std::vector<int64_t>& padded, Tensor* to, int64_t to_offset) {
  const int rank = from.rank();
  if (from.num_elements() == 0) return;
  if (rank == 0) {
    CopyElements(from, 0, 1, to, to_offset);
    return;
  }
  const int64_t row = from.shape().dim(rank - 1);
  std::vector<int64_t> index(rank, 0);
  for (int64_t at = 0; at < from.num_elements(); at += row) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) offset = offset * padded[d] + index[d];
    CopyElements(from, at, row, to, to_offset + offset);
    for (int d = rank - 2; d >= 0 && ++index[d] == from.shape().dim(d); --d) index[d] = 0;
  }
}

struct Padding {
  std::vector<std::vector<int64_t>> shapes;  // -1: as large as the largest of the batch
  std::vector<Tensor> values;
};

StatusOr<Tensor> StackPadded(const std::vector<Element>& elements, size_t component, const Padding& padding) {
  const Tensor& first = elements[0][component];
  std::vector<int64_t> sizes = padding.shapes[component];
  for (const Element& e : elements) {
    const Tensor& t = e[component];
    if (t.rank() != static_cast<int>(sizes.size()) || t.dtype() != padding.values[component].dtype()) {
      return errors::InvalidArgument("All elements in a batch must have the same rank as the padded shape for component ", component,
                                     ": expected rank ", sizes.size(), " but got element with rank ", t.rank());
    }
    for (int d = 0; d < t.rank(); ++d) {
      const int64_t wanted = padding.shapes[component][d];
      if (wanted >= 0 && t.shape().dim(d) > wanted) {
        return errors::DataLoss("Attempted to pad to a smaller size than the input element in component ", component, ".");
      }
      sizes[d] = std::max(sizes[d], t.shape().dim(d));
    }
  }
  for (int64_t& s : sizes) s = std::max<int64_t>(s, 0);
  std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor batch, Tensor::Make(first.dtype(), shape));
  Fill(padding.values[component], &batch, shape.num_elements());
  const int64_t each = shape.num_elements() / static_cast<int64_t>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) CopyCorner(elements[i][component], sizes, &batch, static_cast<int64_t>(i) * each);
  return batch;
}

class PaddedBatchDataset final : public DerivedDataset {
 public:
  PaddedBatchDataset(Ref<Dataset> input, int64_t size, bool drop_remainder, Padding padding, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        size_(size),
        drop_remainder_(drop_remainder),
        padding_(std::move(padding)) {}

  StatusOr<IteratorPtr> MakeIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), size_, drop_remainder_, padding_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t size, bool drop, const Padding& padding)
        : input_(std::move(input)), size_(size), drop_remainder_(drop), padding_(padding) {}
    Status GetNext(const StepContext& step, Element* batch, bool* end) override {
      std::vector<Element> elements;
      while (input_ != nullptr && static_cast<int64_t>(elements.size()) < size_) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element element;
        RETURN_IF_ERROR(input_->GetNext(step, &element, end));
        if (*end)
          input_.reset();
        else
          elements.push_back(std::move(element));
      }
      *end = elements.empty() || (drop_remainder_ && static_cast<int64_t>(elements.size()) < size_);
      if (*end) return OkStatus();
      for (const Element& e : elements) {
        if (e.size() != padding_.values.size()) return errors::InvalidArgument("Mismatched number of padded shapes and components");
      }
      for (size_t i = 0; i < elements[0].size(); ++i) {
        ASSIGN_OR_RETURN(Tensor component, StackPadded(elements, i, padding_));
        batch->push_back(std::move(component));
      }
      return OkStatus();
    }

   private:
    IteratorPtr input_;  // null once it has ended
    const int64_t size_;
    const bool drop_remainder_;
    const Padding padding_;
  };

  const int64_t size_;
  const bool drop_remainder_;
  const Padding padding_;
};

class MakePaddedBatchDataset final : public Kernel {
 public:
  explicit MakePaddedBatchDataset(KernelInit& init)
      : count_(static_cast<int>(init.Attr<int64_t>("N"))),
        types_(init.Attr<std::vector<DType>>("Toutput_types")),
        shapes_(init.Attr<std::vector<PartialShape>>("output_shapes")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
    if (size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
    if (count_ != static_cast<int>(types_.size()) || types_ != input->types() || shapes_.size() != types_.size()) {
      return errors::InvalidArgument("Number of padded shapes (", count_, ") must match the number of components in the input dataset's "
                                     "elements (", input->types().size(), ")");
    }
    Padding padding;
    for (int i = 0; i < count_; ++i) {
      const Tensor& sizes = ctx.input(2 + i);
      if (sizes.rank() != 1) return errors::InvalidArgument("All padded shapes must be vectors");
      const auto flat = sizes.flat<int64_t>();
      if (std::any_of(flat.begin(), flat.end(), [](int64_t d) { return d < -1; })) {
        return errors::InvalidArgument("Padded sizes must be >= -1");
      }
      padding.shapes.emplace_back(flat.begin(), flat.end());
      const Tensor& value = ctx.input(2 + count_ + i);
      if (value.rank() != 0) return errors::InvalidArgument("All padding values must be scalars");
      padding.values.push_back(value);
    }
    ASSIGN_OR_RETURN(const bool drop_remainder, ScalarInput<bool>(ctx, ctx.num_inputs() - 1, "drop_remainder"));
    OutputSignature signature;
    signature.types = types_;
    signature.shapes = shapes_;
    OutputDataset(ctx, MakeRef<PaddedBatchDataset>(std::move(input), size, drop_remainder, std::move(padding), std::move(signature)));
    return OkStatus();
  }

 private:
  const int count_;
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

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
    .Cpu<MakePaddedBatchDataset>()
    .Doc("A dataset of batches whose elements are padded to a common shape.");

}  // namespace
}  // namespace millstream
