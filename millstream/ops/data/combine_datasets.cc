// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/data/element_attrs.h"

namespace millstream {
namespace {

// One dataset after the other.
class ConcatenateDataset final : public Dataset {
 public:
  ConcatenateDataset(Ref<Dataset> first, Ref<Dataset> second, OutputSignature signature)
      : Dataset(std::move(signature.types), std::move(signature.shapes)),
        first_(std::move(first)),
        second_(std::move(second)) {}
  int64_t CountElements() const override {
    const int64_t a = first_->Cardinality(), b = second_->Cardinality();
    if (a == kInfiniteCardinality || b == kInfiniteCardinality) return kInfiniteCardinality;
    return a < 0 || b < 0 ? kUnknownCardinality : a + b;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr first, first_->MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(first), second_, owner);
  }
  Status FindRandomAccess() const override {
    RETURN_IF_ERROR(first_->CheckRandomAccess());
    return second_->CheckRandomAccess();
  }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr first, first_->MakeAccess(owner));
    ASSIGN_OR_RETURN(AccessPtr second, second_->MakeAccess(owner));
    return MakeAccessBy([first = std::move(first), second = std::move(second), n = first_->Cardinality()](
                            const StepContext& step, int64_t i, Element* element) {
      return i < n ? first->Get(step, i, element) : second->Get(step, i - n, element);
    });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr first, Ref<Dataset> second, const StepContext& owner)
        : current_(std::move(first)), second_(std::move(second)), owner_(owner) {}
    bool Ready() override { return current_ == nullptr || current_->Ready(); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = true;
      while (current_ != nullptr) {
        RETURN_IF_ERROR(current_->GetNext(step, element, end));
        if (!*end) return OkStatus();
        element->clear();
        current_.reset();
        if (!second_) return OkStatus();
        const Ref<Dataset> next = std::move(second_);
        ASSIGN_OR_RETURN(current_, next->MakeIterator(owner_));
      }
      return OkStatus();
    }

   private:
    IteratorPtr current_;
    Ref<Dataset> second_;  // null once it has begun
    const StepContext& owner_;
  };
  const Ref<Dataset> first_, second_;
};

// Elements side by side, as long as all have one.
class ZipDataset final : public Dataset {
 public:
  ZipDataset(std::vector<Ref<Dataset>> inputs, OutputSignature signature)
      : Dataset(std::move(signature.types), std::move(signature.shapes)), inputs_(std::move(inputs)) {}
  int64_t CountElements() const override {
    int64_t least = kInfiniteCardinality;
    for (const Ref<Dataset>& input : inputs_) {
      const int64_t n = input->Cardinality();
      if (n == kUnknownCardinality) return n;
      if (n >= 0 && (least < 0 || n < least)) least = n;
    }
    return least;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    std::vector<IteratorPtr> iterators;
    for (const Ref<Dataset>& input : inputs_) {
      ASSIGN_OR_RETURN(IteratorPtr from, input->MakeIterator(owner));
      iterators.push_back(std::move(from));
    }
    return std::make_unique<Iterator>(std::move(iterators));
  }
  Status FindRandomAccess() const override {
    for (const Ref<Dataset>& input : inputs_) RETURN_IF_ERROR(input->CheckRandomAccess());
    return OkStatus();
  }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    std::vector<AccessPtr> inputs;
    for (const Ref<Dataset>& input : inputs_) {
      if (input->Cardinality() < 0) return Dataset::MakeAccess(owner);
      ASSIGN_OR_RETURN(AccessPtr from, input->MakeAccess(owner));
      inputs.push_back(std::move(from));
    }
    return MakeAccessBy([inputs = std::move(inputs)](const StepContext& step, int64_t i, Element* element) {
      for (const AccessPtr& input : inputs) {
        Element part;
        RETURN_IF_ERROR(input->Get(step, i, &part));
        element->insert(element->end(), part.begin(), part.end());
      }
      return OkStatus();
    });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::vector<IteratorPtr> inputs) : inputs_(std::move(inputs)) {}
    bool Ready() override {
      for (const IteratorPtr& input : inputs_) {
        if (!input->Ready()) return false;
      }
      return true;
    }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = inputs_.empty();
      Status status;
      // All go on, also after an error or the end of one: so they stay in step, and caches of one size are completed.
      for (const IteratorPtr& input : inputs_) {
        Element part;
        bool over = false;
        const Status next = input->GetNext(step, &part, &over);
        if (*end || !status.ok()) continue;
        status = next;
        *end = next.ok() && over;
        element->insert(element->end(), part.begin(), part.end());
      }
      if (*end || !status.ok()) element->clear();
      if (*end) inputs_.clear();
      return status;
    }

   private:
    std::vector<IteratorPtr> inputs_;
  };
  const std::vector<Ref<Dataset>> inputs_;
};

class MakeConcatenate final : public Kernel {
 public:
  explicit MakeConcatenate(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> first, DatasetInput(ctx, 0));
    ASSIGN_OR_RETURN(Ref<Dataset> second, DatasetInput(ctx, 1));
    if (first->types() != second->types()) {
      return errors::InvalidArgument("input dataset and dataset to concatenate have different output_types");
    }
    OutputDataset(ctx, MakeRef<ConcatenateDataset>(std::move(first), std::move(second), signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

class MakeZip final : public Kernel {
 public:
  explicit MakeZip(KernelInit& init) : signature_(init) {}
  Status Compute(KernelContext& ctx) override {
    std::vector<Ref<Dataset>> inputs;
    std::vector<DType> types;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, i));
      types.insert(types.end(), input->types().begin(), input->types().end());
      inputs.push_back(std::move(input));
    }
    RETURN_IF_ERROR(CheckSignature(signature_, types, {}));
    OutputDataset(ctx, MakeRef<ZipDataset>(std::move(inputs), signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
};

OP("ConcatenateDataset")
    .Input("input_dataset: variant")
    .Input("another_dataset: variant")
    .Output("handle: variant")
    .With(ElementAttrs)
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeConcatenate>()
    .Doc("One dataset after another.");
OP("ZipDataset")
    .Input("input_datasets: N * variant")
    .Output("handle: variant")
    .With(ElementAttrs)
    .Attr("N: int >= 1")
    .Attr("metadata: string = ''")
    .Shape(ScalarShape)
    .Cpu<MakeZip>()
    .Doc("A dataset of the elements of several, side by side.");

}  // namespace
}  // namespace millstream
