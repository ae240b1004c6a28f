// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/base/memory_budget.h"
#include "millstream/framework/op.h"
#include "millstream/ops/data/batch.h"
#include "millstream/ops/elements/copy_rows.h"

namespace millstream {

Status TakeElements(const StepContext& step, int64_t size, bool drop_remainder, IteratorPtr* input,
                    std::vector<Element>* elements, bool* end) {
  while (*input != nullptr && static_cast<int64_t>(elements->size()) < size) {
    RETURN_IF_ERROR(CheckCancelled(step));
    Element element;
    RETURN_IF_ERROR((*input)->GetNext(step, &element, end));
    if (*end)
      input->reset();
    else
      elements->push_back(std::move(element));
  }
  *end = elements->empty() || (drop_remainder && static_cast<int64_t>(elements->size()) < size);
  return OkStatus();
}

namespace {

Status StackRows(std::vector<Element>& elements, size_t component, Tensor* batch) {
  const Tensor& first = elements[0][component];
  std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
  dims.insert(dims.end(), first.shape().dims().begin(), first.shape().dims().end());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(*batch, Tensor::Make(first.dtype(), shape));
  for (size_t row = 0; row < elements.size(); ++row) {
    Tensor& t = elements[row][component];
    if (t.shape() != first.shape()) {
      return errors::InvalidArgument("Cannot batch tensors with different shapes in component ", component,
                                     ". First element had shape ", first.shape().ToString(), " and element ", row,
                                     " had shape ", t.shape().ToString(), ".");
    }
    if (t.dtype() != first.dtype())
      return errors::InvalidArgument("Cannot batch tensors with different types in component ", component);
    const int64_t at = static_cast<int64_t>(row) * t.num_elements();
    if (t.dtype() == DType::kString && t.RefIsOne()) {
      std::move(t.data<std::string>(), t.data<std::string>() + t.num_elements(), batch->data<std::string>() + at);
    } else {
      CopyElements(t, 0, t.num_elements(), batch, at);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Tensor> StackComponent(std::vector<Element>& elements, size_t component) {
  Tensor batch;
  RETURN_IF_ERROR(CatchOutOfMemory([&] {
    const AllocationsMayFail may_fail;  // one string may be in many elements
    return StackRows(elements, component, &batch);
  }));
  return batch;
}

namespace {

class BatchDataset final : public DerivedDataset {
 public:
  BatchDataset(Ref<Dataset> input, int64_t size, bool drop_remainder, OutputSignature signature)
      : DerivedDataset(std::move(input), std::move(signature.types), std::move(signature.shapes)),
        size_(size),
        drop_remainder_(drop_remainder) {}

  int64_t CountElements() const override { return BatchCount(input().Cardinality(), size_, drop_remainder_); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), size_, drop_remainder_);
  }
  Status FindRandomAccess() const override {
    if (drop_remainder_) return input().CheckRandomAccess();
    return errors::FailedPrecondition("Batch does not support global shuffling with `drop_remainder=False`.");
  }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    return MakeAccessBy([from = std::move(from), size = size_, n = input().Cardinality()](
                            const StepContext& step, int64_t batch, Element* element) {
      std::vector<Element> elements;
      for (int64_t i = batch * size; i < std::min(n, batch * size + size); ++i) {
        RETURN_IF_ERROR(CheckCancelled(step));
        RETURN_IF_ERROR(from->Get(step, i, &elements.emplace_back()));
      }
      return Stack(elements, element);
    });
  }

 private:
  // REQUIRES: there is an element.
  static Status Stack(std::vector<Element>& elements, Element* batch) {
    for (size_t i = 0; i < elements[0].size(); ++i) {
      ASSIGN_OR_RETURN(Tensor component, StackComponent(elements, i));
      batch->push_back(std::move(component));
    }
    return OkStatus();
  }

  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, int64_t size, bool drop)
        : input_(std::move(input)), size_(size), drop_remainder_(drop) {}
    // Ready for one element is not ready for a batch, unless nothing below ever waits: then the first says it for all.
    bool Ready() override { return size_ == 1 && input_ != nullptr && input_->Ready(); }
    Status Next(const StepContext& step, Element* batch, bool* end) override {
      std::vector<Element> elements;
      RETURN_IF_ERROR(TakeElements(step, size_, drop_remainder_, &input_, &elements, end));
      return *end ? OkStatus() : Stack(elements, batch);
    }

   private:
    IteratorPtr input_;  // null once it has ended
    const int64_t size_;
    const bool drop_remainder_;
  };

  const int64_t size_;
  const bool drop_remainder_;
};

// `drop_input`: the input that says whether to drop a smaller batch at the end; 0 if there is none.
template <int drop_input>
class MakeBatchDataset final : public Kernel {
 public:
  explicit MakeBatchDataset(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t size, ScalarInput<int64_t>(ctx, 1, "batch_size"));
    if (size <= 0) return errors::InvalidArgument("Batch size must be greater than zero.");
    bool drop_remainder = false;
    if constexpr (drop_input > 0) {
      ASSIGN_OR_RETURN(drop_remainder, ScalarInput<bool>(ctx, drop_input, "drop_remainder"));
    }
    OutputDataset(ctx, MakeRef<BatchDataset>(std::move(input), size, drop_remainder, signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

OP("BatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeBatchDataset<0>>()
    .Doc("A dataset of batches; the last one may be smaller.");
OP("BatchDatasetV2")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
    .Attr("parallel_copy: bool = false")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeBatchDataset<2>>()
    .Doc("A dataset of batches; a smaller one at the end is kept or dropped.");
OP("ParallelBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("num_parallel_calls: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
    .Attr("parallel_copy: bool = false")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("deterministic: string = 'default'")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeBatchDataset<3>>()
    .Doc("A dataset of batches, as BatchDatasetV2; they are made one after the other.");

}  // namespace
}  // namespace millstream
