// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// The first of several datasets with the same elements; after some elements, whichever of them was the fastest.
class ChooseFastestDataset final : public Dataset {
 public:
  ChooseFastestDataset(std::vector<Ref<Dataset>> inputs, int64_t experiments, OutputSignature signature)
      : Dataset(std::move(signature.types), std::move(signature.shapes)),
        inputs_(std::move(inputs)),
        experiments_(experiments) {}
  int64_t CountElements() const override {
    for (const Ref<Dataset>& input : inputs_) {
      if (const int64_t n = input->Cardinality(); n != kUnknownCardinality) return n;
    }
    return kUnknownCardinality;
  }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    std::vector<IteratorPtr> iterators;
    for (const Ref<Dataset>& input : inputs_) {
      ASSIGN_OR_RETURN(IteratorPtr from, input->MakeIterator(owner));
      iterators.push_back(std::move(from));
    }
    return std::make_unique<Iterator>(std::move(iterators), experiments_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::vector<IteratorPtr> inputs, int64_t experiments)
        : inputs_(std::move(inputs)), left_(experiments), times_(inputs_.size()) {}
    bool Ready() override { return inputs_.size() == 1 && inputs_[0]->Ready(); }
    Status Next(const StepContext& step, Element* element, bool* end) override {
      if (inputs_.size() > 1 && left_ <= 0) KeepFastest();
      if (inputs_.size() == 1) return inputs_[0]->GetNext(step, element, end);
      --left_;
      // One at a time, so that none is slow because of another.
      const Status first = Measure(0, step, element, end);
      for (size_t i = 1; i < inputs_.size(); ++i) {
        RETURN_IF_ERROR(CheckCancelled(step));
        Element same;
        bool over = false;
        (void)Measure(i, step, &same, &over);  // the word of the first counts
      }
      return first;
    }

   private:
    using Clock = std::chrono::steady_clock;
    Status Measure(size_t i, const StepContext& step, Element* element, bool* end) {
      const Clock::time_point start = Clock::now();
      Status status = inputs_[i]->GetNext(step, element, end);
      times_[i].push_back(Clock::now() - start);
      return status;
    }
    // What nine of ten elements are made within.
    Clock::duration Usual(size_t i) {
      if (times_[i].empty()) return Clock::duration::zero();
      const auto at = times_[i].begin() + static_cast<std::ptrdiff_t>(times_[i].size() * 9 / 10);
      std::nth_element(times_[i].begin(), std::min(at, times_[i].end() - 1), times_[i].end());
      return *std::min(at, times_[i].end() - 1);
    }
    void KeepFastest() {
      size_t best = 0;
      for (size_t i = 1; i < inputs_.size(); ++i) {
        if (Usual(i) < Usual(best)) best = i;
      }
      IteratorPtr kept = std::move(inputs_[best]);
      inputs_.clear();
      inputs_.push_back(std::move(kept));
    }

    std::vector<IteratorPtr> inputs_;  // the chosen one alone, once it is known
    int64_t left_;                     // elements that all inputs make
    std::vector<std::vector<Clock::duration>> times_;
  };

  const std::vector<Ref<Dataset>> inputs_;
  const int64_t experiments_;
};

class MakeChooseFastest final : public Kernel {
 public:
  explicit MakeChooseFastest(KernelInit& init)
      : signature_(init), experiments_(init.Attr<int64_t>("num_experiments")) {}
  Status Compute(KernelContext& ctx) override {
    std::vector<Ref<Dataset>> inputs;
    int64_t cardinality = kUnknownCardinality;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, i));
      RETURN_IF_ERROR(CheckSignature(signature_, input->types(), input->shapes()));
      const int64_t n = input->Cardinality();
      if (n != kUnknownCardinality && cardinality != kUnknownCardinality && n != cardinality) {
        return errors::InvalidArgument("All inputs to ChooseFastestDataset must have compatible cardinalities. Input ",
                                       i, " has cardinality: ", n,
                                       ", while all prior inputs have cardinality: ", cardinality, ".");
      }
      if (n != kUnknownCardinality) cardinality = n;
      inputs.push_back(std::move(input));
    }
    OutputDataset(ctx, MakeRef<ChooseFastestDataset>(std::move(inputs), experiments_, signature_));
    return OkStatus();
  }

 private:
  const OutputSignature signature_;
  const int64_t experiments_;
};

#define CHOOSE_FASTEST(Name)                   \
  OP(Name)                                     \
      .Input("input_datasets: N * variant")    \
      .Output("handle: variant")               \
      .Attr("N: int >= 2")                     \
      .Attr("num_experiments: int")            \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Shape(ScalarShape)                      \
      .Cpu<MakeChooseFastest>()                \
      .Doc("The fastest of several datasets that have the same elements, found by trying them all at first.")
CHOOSE_FASTEST("ChooseFastestDataset");
CHOOSE_FASTEST("ExperimentalChooseFastestDataset");
#undef CHOOSE_FASTEST

}  // namespace
}  // namespace millstream
