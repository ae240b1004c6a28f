// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/math/random/random.h"
#include "millstream/ops/data/dataset.h"

namespace millstream {
namespace {

// Keeps each element with a probability, and the same ones in every walk.
class SamplingDataset final : public DerivedDataset {
 public:
  SamplingDataset(Ref<Dataset> input, float rate, const math::Philox& philox)
      : DerivedDataset(std::move(input)), rate_(rate), philox_(philox) {}
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(IteratorPtr from, input().MakeIterator(owner));
    return std::make_unique<Iterator>(std::move(from), rate_, philox_);
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr input, float rate, const math::Philox& philox)
        : input_(std::move(input)), rate_(rate), sampler_(philox) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      while (true) {
        RETURN_IF_ERROR(CheckCancelled(step));
        element->clear();
        RETURN_IF_ERROR(input_->GetNext(step, element, end));
        if (*end || math::random_internal::ToFloat(sampler_.Next()) < rate_) return OkStatus();
      }
    }

   private:
    const IteratorPtr input_;
    const float rate_;
    math::PhiloxSampler sampler_;
  };

  const float rate_;
  const math::Philox philox_;
};

Status SamplingCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const float rate, ScalarInput<float>(ctx, 1, "rate"));
  ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 2, "seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 3, "seed2"));
  // Two zeros ask for any seeds.
  const math::Philox philox = math::PhiloxStream(seed, seed2).Reserve(0);
  OutputDataset(ctx, MakeRef<SamplingDataset>(std::move(input), rate, philox));
  return OkStatus();
}

OP("SamplingDataset")
    .Input("input_dataset: variant")
    .Input("rate: float")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Output("handle: variant")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Shape(ScalarShape)
    .Cpu(SamplingCpu)
    .Doc("A dataset of some of the elements, each kept with a given probability.");

}  // namespace
}  // namespace millstream
