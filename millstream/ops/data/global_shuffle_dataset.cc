// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/data/seed_source.h"
#include "millstream/ops/random/index_shuffle.h"

namespace millstream {
namespace {

// All elements in random order, each fetched by its index when its turn comes.
class GlobalShuffleDataset final : public DerivedDataset {
 public:
  GlobalShuffleDataset(Ref<Dataset> input, std::shared_ptr<SeedSource> source)
      : DerivedDataset(std::move(input)), source_(std::move(source)) {}

  int64_t CountElements() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> NewIterator(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr shuffled, MakeAccess(owner));
    return std::make_unique<Iterator>(std::move(shuffled), Cardinality());
  }
  Status FindRandomAccess() const override { return OkStatus(); }
  StatusOr<AccessPtr> NewAccess(const StepContext& owner) const override {
    ASSIGN_OR_RETURN(AccessPtr from, input().MakeAccess(owner));
    const Seeds first = source_->Next(), second = source_->Next();
    const std::array<uint32_t, 3> key = {static_cast<uint32_t>(first.seed), static_cast<uint32_t>(first.seed2),
                                         static_cast<uint32_t>(second.seed)};
    return MakeAccessBy([from = std::move(from), key, highest = static_cast<uint64_t>(Cardinality() - 1)](
                            const StepContext& step, int64_t i, Element* element) {
      constexpr int kRounds = 8;
      const uint64_t index = ShuffledIndex(static_cast<uint64_t>(i), key, highest, kRounds);
      return from->Get(step, static_cast<int64_t>(index), element);
    });
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(AccessPtr shuffled, int64_t size) : shuffled_(std::move(shuffled)), size_(size) {}
    Status Next(const StepContext& step, Element* element, bool* end) override {
      *end = next_ == size_;
      return *end ? OkStatus() : shuffled_->Get(step, next_++, element);
    }

   private:
    const AccessPtr shuffled_;
    const int64_t size_;
    int64_t next_ = 0;
  };
  const std::shared_ptr<SeedSource> source_;
};

class MakeGlobalShuffle final : public Kernel {
 public:
  explicit MakeGlobalShuffle(KernelInit& init) : reshuffle_(init.Attr<bool>("reshuffle_each_iteration")) {}
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
    if (const Status random = input->CheckRandomAccess(); !random.ok()) {
      return errors::FailedPrecondition(
          "`global_shuffle` requires all upstream transformations be compatible with random access. Got: ",
          random.message());
    }
    if (const int64_t n = input->Cardinality(); n <= 0) {
      return errors::InvalidArgument(
          "`global_shuffle` requires the input dataset to have a non-empty finite cardinality. Got cardinality ", n);
    }
    ASSIGN_OR_RETURN(const int64_t seed, ScalarInput<int64_t>(ctx, 1, "seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, ScalarInput<int64_t>(ctx, 2, "seed2"));
    std::shared_ptr<SeedSource> source = GivenSource(ctx, 3);
    if (source == nullptr) source = std::make_shared<SeedSource>(OrRandom(seed, seed2), !reshuffle_);
    OutputDataset(ctx, MakeRef<GlobalShuffleDataset>(std::move(input), std::move(source)));
    return OkStatus();
  }

 private:
  const bool reshuffle_;
};

OP("GlobalShuffleDataset")
    .Input("input_dataset: variant")
    .Input("seed: int64")
    .Input("seed2: int64")
    .Input("seed_generator: resource")
    .Output("handle: variant")
    .Attr("reshuffle_each_iteration: bool = true")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("metadata: string = ''")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<MakeGlobalShuffle>()
    .Doc("Shuffles a whole dataset by index, without a buffer.");

}  // namespace
}  // namespace millstream
