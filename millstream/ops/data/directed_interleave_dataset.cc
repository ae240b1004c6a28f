// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// Elements of several datasets; another one says from which to take the next.
class DirectedInterleaveDataset final : public Dataset {
 public:
  DirectedInterleaveDataset(Ref<Dataset> selector, std::vector<Ref<Dataset>> inputs, std::vector<PartialShape> shapes,
                            bool stop)
      : Dataset(inputs[0]->types(), std::move(shapes)),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        stop_(stop) {}

  int64_t CountElements() const override {
    if (stop_) return kUnknownCardinality;
    int64_t sum = 0;
    for (const Ref<Dataset>& input : inputs_) {
      const int64_t n = input->Cardinality();
      if (n < 0) return n;
      sum += n;
    }
    return sum;
  }

  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr selector, selector_->MakeIterator(owner));
    std::vector<IteratorPtr> iterators;
    for (const Ref<Dataset>& input : inputs_) {
      ASSIGN_OR_RETURN(IteratorPtr from, input->MakeIterator(owner));
      iterators.push_back(std::move(from));
    }
    return std::make_unique<Iterator>(std::move(selector), std::move(iterators), stop_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr selector, std::vector<IteratorPtr> inputs, bool stop)
        : selector_(std::move(selector)), inputs_(std::move(inputs)), open_(inputs_.size()), stop_(stop) {}

    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (selector_ != nullptr) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element which;
        RETURN_IF_ERROR(selector_->GetNext(step, &which, end));
        if (*end) break;
        const int64_t i = which[0].num_elements() == 1 ? which[0].scalar<int64_t>() : -1;
        if (i < 0 || i >= static_cast<int64_t>(inputs_.size())) {
          return errors::InvalidArgument("Selector index out of range: ", i, " >= ", inputs_.size());
        }
        IteratorPtr& input = inputs_[static_cast<size_t>(i)];
        if (input == nullptr) continue;
        element->clear();
        RETURN_IF_ERROR(input->GetNext(step, element, end));
        if (!*end) return OkStatus();
        input.reset();
        if (stop_ || --open_ == 0) break;
      }
      selector_.reset();
      inputs_.clear();
      *end = true;
      return OkStatus();
    }

   private:
    IteratorPtr selector_;             // null at the end
    std::vector<IteratorPtr> inputs_;  // null where they have ended
    size_t open_;
    const bool stop_;
  };

  const Ref<Dataset> selector_;
  const std::vector<Ref<Dataset>> inputs_;
  const bool stop_;
};

class MakeDirectedInterleave final : public Kernel {
 public:
  explicit MakeDirectedInterleave(KernelInit& init)
      : signature_(init), stop_(init.HasAttr("stop_on_empty_dataset") && init.Attr<bool>("stop_on_empty_dataset")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> selector, DatasetInput(ctx, 0));
    if (selector->types().size() != 1 || selector->types()[0] != DType::kInt64 ||
        !selector->shapes()[0].IsCompatibleWith(Shape())) {
      return errors::InvalidArgument("The selector input must be a dataset of scalar int64 elements.");
    }
    std::vector<Ref<Dataset>> inputs;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, i));
      if (!inputs.empty() && input->types() != inputs[0]->types()) {
        return errors::InvalidArgument("All inputs must have the same output_dtypes. Input ", i - 1,
                                       " has others than the first");
      }
      inputs.push_back(std::move(input));
    }
    OutputDataset(ctx,
                  MakeRef<DirectedInterleaveDataset>(std::move(selector), std::move(inputs), signature_.shapes, stop_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
  const bool stop_;
};

#define DIRECTED_INTERLEAVE(Name)                \
  OP(Name)                                       \
      .Input("selector_input_dataset: variant")  \
      .Input("data_input_datasets: N * variant") \
      .Output("handle: variant")                 \
      .Attr("output_types: list(type) >= 1")     \
      .Attr("output_shapes: list(shape) >= 1")   \
      .Attr("N: int >= 1")                       \
      .Shape(ScalarShape)                        \
      .Cpu<MakeDirectedInterleave>()             \
      .Doc("Elements of several datasets, in an order that another dataset gives.")
DIRECTED_INTERLEAVE("DirectedInterleaveDataset").Attr("stop_on_empty_dataset: bool = false");
DIRECTED_INTERLEAVE("ExperimentalDirectedInterleaveDataset");
#undef DIRECTED_INTERLEAVE

}  // namespace
}  // namespace millstream
